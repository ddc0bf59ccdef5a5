"""Try networks that others published on the simulator, one at a time; a run may be interrupted.

    .venv/bin/python bench/trials.py TREES RESULTS.jsonl [--refused]

TREES has a folder for each repository. Each network is simulated with the NPU and without, each
within a time limit, and its verdicts are added to RESULTS as a line of JSON. What is there already
is not tried again, except with --refused, which tries again what was refused. The networks are
data for trying only: they stay where they are.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import time
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import ethosgen.aot.compiler  # noqa: F401 - loaded once, before any fork
from ethosgen import pipeline
from ethosgen.errors import EthosgenError
from ethosgen.watch import Watch

NPUS = ("ethos-u55-128", "none")
LIMIT_S = 90.0
SAMPLES = 2
LARGEST_BYTES = 6_000_000


@dataclass(frozen=True)
class Trial:
    """What became of a network: for each NPU a verdict, and the sentence where it was refused."""

    source: str
    place: str
    digest: str
    verdicts: dict[str, str]
    words: dict[str, str]
    seconds: float


def networks(trees: Path) -> list[tuple[str, Path]]:
    """Return each network once, the smallest first, with the repository where it came first."""
    seen: set[str] = set()
    found = []
    for tree in sorted(path for path in trees.iterdir() if path.is_dir()):
        for path in sorted(path for path in tree.rglob("*lite") if path.is_file()):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest not in seen and path.stat().st_size <= LARGEST_BYTES:
                seen.add(digest)
                found.append((tree.name.replace("+", "/"), path))
    return sorted(found, key=lambda pair: pair[1].stat().st_size)


def simulate(path: Path, npu: str) -> tuple[str, str]:
    """Return the verdict on a network, or how it was refused, and the sentence.

    A fork of this process does it, in which TVM is loaded already.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_answer, args=(theirs, path, npu))
    child.start()
    theirs.close()
    try:
        if not ours.poll(LIMIT_S):
            return "LATE", f"not finished in {LIMIT_S:g} s"
        answer: tuple[str, str] = ours.recv()
        return answer
    except EOFError:
        return "BUG", "the process died"
    finally:
        child.kill()
        child.join()


def _answer(line: Connection, path: Path, npu: str) -> None:
    inputs = pipeline.Inputs(None, SAMPLES, 0)
    try:
        report = pipeline.simulate(path, npu=npu, inputs=inputs, watch=Watch())
    except EthosgenError as error:
        line.send(("REFUSED", str(error)))
    except Exception as error:
        line.send(("BUG", f"{type(error).__name__}: {error}"))
    else:
        golden = report.golden
        counts = f"{golden.mismatches} of {golden.elements}, {golden.oracle}" if golden else ""
        line.send((report.verdict, "; ".join((counts, *report.findings.values()))))


def attempt(source: str, path: Path, trees: Path) -> Trial:
    """Try a network with each NPU."""
    start = time.monotonic()
    answers = {npu: simulate(path, npu) for npu in NPUS}
    return Trial(
        source,
        str(path.relative_to(trees)),
        hashlib.sha256(path.read_bytes()).hexdigest(),
        {npu: verdict for npu, (verdict, _) in answers.items()},
        {npu: words for npu, (_, words) in answers.items()},
        round(time.monotonic() - start, 1),
    )


def read(results: Path) -> dict[str, Trial]:
    """Return the last trial of each network."""
    lines = results.read_text().splitlines() if results.is_file() else []
    trials = (Trial(**json.loads(line)) for line in lines)
    return {trial.digest: trial for trial in trials}


def main() -> None:
    """Try what has not been tried."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("trees", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--refused", action="store_true")
    arguments = parser.parse_args()
    os.nice(10)
    done = read(arguments.results)
    if arguments.refused:
        done = {k: t for k, t in done.items() if set(t.verdicts.values()) <= {"PASS", "LATE"}}
    for source, path in networks(arguments.trees):
        if hashlib.sha256(path.read_bytes()).hexdigest() not in done:
            trial = attempt(source, path, arguments.trees)
            with arguments.results.open("a") as file:
                file.write(json.dumps(asdict(trial)) + "\n")


if __name__ == "__main__":
    main()
