"""Runs many random networks in processes that may die or hang, with a log that can be resumed."""

import multiprocessing
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from tests.corpus.wild.trial import Verdict
from tests.support.fork_server import ForkServer, use_fork_server
from tests.support.pages import add_line, load_lines

DEADLINE_S = 120.0
"""The time limit for one network; the slowest took a tenth of it on a busy machine."""
LIFE = 300
"""A process is replaced after this many networks: TVM keeps everything that it has compiled."""

BAD = ("differs", "inexact", "fault", "traceback", "died", "hang")
"""Verdicts that mean a bug; "inexact" is a refusal because the CPU's code differs too."""


class Worker:
    """A process that runs networks one after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self.left = LIFE

    def run(self, seed: int) -> Verdict:
        """Run a network; if the process dies or hangs, that is a verdict too."""
        self.left -= 1
        try:
            self._pipe.send(seed)
            if not self._pipe.poll(DEADLINE_S):
                self.left = 0
                return Verdict(seed, "hang", why=f"it did not finish in {DEADLINE_S:g} s")
            verdict: Verdict = self._pipe.recv()
        except (EOFError, OSError):
            self.left = 0
            self._process.join(5)
            return Verdict(seed, "died", why=f"exit status {self._process.exitcode}")
        return verdict

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _work(pipe: Connection) -> None:
    from tests.corpus.wild.trial import run_wild

    server = ForkServer()
    spare_time(server)
    while True:
        seed = pipe.recv()
        try:
            verdict = run_wild(seed)
        except Exception:  # a bug in the corpus itself, which counts as one too
            verdict = Verdict(seed, "traceback", why=traceback.format_exc(limit=-6))
        pipe.send(verdict)


def spare_time(server: ForkServer) -> None:
    """Call Vela and the oracles through an ForkServer in this process, and do not optimize kernels.

    Kernels run only three times, so LLVM's optimizations cost more time than they save.
    """
    from ethosgen.aot.host import llvm
    from ethosgen.aot.tir.lowering import UNOPTIMIZED

    llvm.TARGET = UNOPTIMIZED
    use_fork_server(server)


def run_batch(seeds: Iterable[int]) -> Iterator[Verdict]:
    """Run networks in order and yield their verdicts."""
    worker = Worker()
    try:
        for seed in seeds:
            if worker.left <= 0:
                worker.close()
                worker = Worker()
            started = time.perf_counter()
            verdict = worker.run(seed)
            verdict.seconds["all"] = round(time.perf_counter() - started, 4)
            yield verdict
    finally:
        worker.close()


def run_logged(seeds: Sequence[int], path: Path) -> Iterator[Verdict]:
    """Run the networks that are not in a log, and add each to it."""
    done = {entry["seed"] for entry in load_lines(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for verdict in run_batch(seed for seed in seeds if seed not in done):
        add_line(path, verdict.as_dict())
        yield verdict
