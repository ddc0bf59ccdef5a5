"""Worker processes that share the tasks of a long run; each is prepared once.

A task is a sample of a network, or any other value that can be pickled.
"""

import os
import pickle
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from ethosgen.values.errors import EthosgenError, TargetError
from ethosgen.values.outcome import Arrays

Given = TypeVar("Given")
Made = TypeVar("Made")

Steps = Sequence[Arrays]
"""The inputs of successive inferences; the network's state is reset before the first."""
RunSamples = Callable[[Sequence[Steps]], list[list[Arrays]]]
"""Runs samples of one or several steps each; returns the outputs of each step."""
Make = Callable[[], AbstractContextManager[RunSamples]]
"""Prepares a worker; it must be picklable, as its samples and outputs are."""

_UNGUARDED = "ETHOSGEN_UNGUARDED"
"""Names a file that a worker creates if the user's script starts workers when it is imported."""
_DIED = "a worker process died, perhaps because memory ran out; use fewer with --processes"
_NO_GUARD = (
    "each worker process imports your script, which starts workers again; put the script's calls "
    "under if __name__ == '__main__':, or use processes=1"
)
_AHEAD = 2
"""Tasks that wait for each worker."""


@dataclass(frozen=True)
class Chunk(Generic[Given]):
    """Samples, or other tasks, that one worker runs in order, and their numbers."""

    indices: tuple[int, ...]
    samples: tuple[Given, ...]


def run_chunks(
    make: Callable[[], AbstractContextManager[Callable[[Sequence[Given]], list[Made]]]],
    chunks: Iterator[Chunk[Given]],
    processes: int,
) -> Generator[tuple[Chunk[Given], list[Made]], None, None]:
    """Yield each chunk with its outputs, in order; with one process, everything runs in this one.

    An EthosgenError of a worker is raised here. TargetError if a worker dies. Close the generator
    to end the workers at once.
    """
    if processes == 1:
        with make() as run:
            for chunk in chunks:
                yield chunk, run(chunk.samples)
        return
    if _is_importing_the_script():
        Path(os.environ[_UNGUARDED]).touch()
        os._exit(1)
    # A forked child would share the threads' locks of compilers and interpreters.
    context = get_context("spawn")
    ended, running = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(processes, context, _begin, (make, ended))
    waiting: deque[tuple[Chunk[Given], Future[list[Made] | EthosgenError]]] = deque()
    place = tempfile.TemporaryDirectory(prefix="ethosgen-workers-")
    unguarded = Path(place.name) / "unguarded"
    os.environ[_UNGUARDED] = str(unguarded)
    try:
        for chunk in chunks:
            waiting.append((chunk, pool.submit(cast("_Run[Given, Made]", _run), chunk.samples)))
            if len(waiting) >= processes * _AHEAD:
                yield _result(*waiting.popleft())
        while waiting:
            yield _result(*waiting.popleft())
    except BaseException as error:
        running.close()  # nothing waits for chunks that have begun
        if not isinstance(error, BrokenProcessPool):
            raise
        raise TargetError(_NO_GUARD if unguarded.exists() else _DIED) from None
    finally:
        del os.environ[_UNGUARDED]
        place.cleanup()
        pool.shutdown(cancel_futures=True)
        running.close()
        ended.close()


def _is_importing_the_script() -> bool:
    """Return whether this is a worker that is still importing its parent's script."""
    return bool(getattr(current_process(), "_inheriting", False)) and _UNGUARDED in os.environ


_Run = Callable[[Sequence[Given]], list[Made] | EthosgenError]


def _result(
    chunk: Chunk[Given], future: Future[list[Made] | EthosgenError]
) -> tuple[Chunk[Given], list[Made]]:
    result = future.result()
    if isinstance(result, EthosgenError):
        raise result
    return chunk, result


# ---- code that runs in a worker ------------------------------------------------------------------

_RunAny = Callable[[Sequence[Any]], list[Any]]
_make: Callable[[], AbstractContextManager[_RunAny]] | None = None
_run_samples: _RunAny | None = None


def _begin(make: Callable[[], AbstractContextManager[_RunAny]], ended: Connection) -> None:
    """Prepare the process: it ignores interrupts, and ends with its parent, even if killed."""
    global _make  # noqa: PLW0603 - a worker has one
    _make = make
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()


def _end_with_parent(ended: Connection) -> None:
    """End as soon as the other end of the pipe is closed, by the parent or because it ended."""
    wait([ended])
    os._exit(1)


def _run(samples: Sequence[Any]) -> list[Any] | EthosgenError:
    global _run_samples  # noqa: PLW0603 - a worker has one
    assert _make is not None
    try:
        if _run_samples is None:
            stack = ExitStack()
            _run_samples = stack.enter_context(_make())
            Finalize(None, _close, (stack,), exitpriority=1)
        return _run_samples(samples)
    except EthosgenError as error:
        return _portable(error)


def _close(stack: ExitStack) -> None:
    with suppress(EthosgenError):  # each session has already had its end marker
        stack.close()


def _portable(error: EthosgenError) -> EthosgenError:
    """Return an error that survives pickling; some have arguments besides their sentence."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        plain = EthosgenError(str(error))
        plain.exit_status = error.exit_status
        return plain
    return error
