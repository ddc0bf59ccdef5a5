"""Runs published networks on the simulator, one at a time; a run may be interrupted.

    .venv/bin/python -m bench.trials TREES RESULTS.jsonl [--again VERDICT ...] [--page]

TREES has a folder for each repository. Each network is simulated with and without the NPU, each
with a time limit, and its verdicts are added to RESULTS as a line of JSON. Networks in RESULTS are
not run again, except those with a VERDICT in --again, such as REFUSED or LATE. --page writes the
results into evidence/public.md and runs nothing. The networks are only test data, and not copied.
"""

import argparse
import datetime
import os
import pickle
import re
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import ethosgen.aot.compiler  # noqa: F401 - loaded once, before any fork
from ethosgen import flow
from ethosgen.values.errors import EthosgenError
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.forks import run_fork
from tests.support.pages import EVIDENCE, add_line, digest_of, listed, load_lines, table

PAGE = EVIDENCE / "public.md"
MARK = "<!-- repositories: written by bench/trials.py -->"
HEAD = """
## Networks in public repositories

Tested on {date}: {count} networks from {sources} repositories, unchanged, on the simulator with
{npu} and without an NPU, with {samples} random samples and at most {limit:g} s each on a busy
machine with two cores. "Equal" means bit for bit, for float32 within the tolerance in
[operators.md](../docs/operators.md). The oracle is TensorFlow Lite Micro, or LiteRT if TensorFlow
Lite Micro lacks an operator or a type ({litert} networks). Files above {largest} MB were left
out{rest}.
"""
CLASSES = {
    "compiled before, for another NPU or without --golden": r"is compiled for",
    "machine code for another accelerator": r"holds machine code",
    "a custom operator that TFLite Micro lacks too": r"it is a custom operator",
    "text, or another non-numeric type": r"has the type STRING|has the type \w+, which",
    "dynamic-range quantization": r"dynamic-range",
    "a random sample outside what an operator accepts": r"does not accept a value",
    "a dynamic shape": r"dynamic shape|no elements",
    "no interpreter runs it": r"^TFLite Micro |, and TFLite Micro |without its golden",
    "reported as damaged": r"is damaged|is truncated",
    "scales that no interpreter computes with": r"no interpreter computes",
    "no code for the operator in this type": r"there is no CPU code",
    "a limit of ethosgen's CPU operators": r"cannot be compiled",
    "Vela refuses it or crashes": r"Vela",
}
"""Reasons for refusals, as patterns of the error message; the first match counts."""

NPUS = ("ethos-u55-128", "none")
LIMIT_S = 300.0
SAMPLES = 2
LARGEST_BYTES = 6_000_000


@dataclass(frozen=True)
class Trial:
    """The result for a network: for each NPU a verdict, and the error message of a refusal."""

    source: str
    place: str
    digest: str
    verdicts: dict[str, str]
    words: dict[str, str]
    seconds: float


def networks(trees: Path) -> list[tuple[str, Path]]:
    """Return each network once, small ones first, with the repository where it came first."""
    seen: set[str] = set()
    files = []
    for tree in sorted(path for path in trees.iterdir() if path.is_dir()):
        for path in sorted(path for path in tree.rglob("*lite") if path.is_file()):
            digest = digest_of(path.read_bytes())
            if digest not in seen and path.stat().st_size <= LARGEST_BYTES:
                seen.add(digest)
                files.append((tree.name.replace("+", "/"), path))
    return sorted(files, key=lambda network: network[1].stat().st_size)


class Answer(NamedTuple):
    """The verdict on a network, its figures or the reason of a refusal, and operators by place."""

    verdict: str
    words: str
    placed: str = "-"
    """The numbers of operators on the NPU and on the CPU."""


def simulate(path: Path, npu: str) -> Answer:
    """Try a network on the simulator.

    A fork of this process runs it, so TVM is already loaded.
    """
    ended = run_fork(lambda: pickle.dumps(_answer(path, npu)), LIMIT_S)
    if ended.status is None:
        return Answer("LATE", f"not finished in {LIMIT_S:g} s")
    if ended.status != 0:
        return Answer("BUG", "the process died")
    answer: Answer = pickle.loads(ended.returned)
    return answer


def _answer(path: Path, npu: str) -> Answer:
    inputs = Inputs(None, SAMPLES, 0)
    try:
        report = flow.simulate(path, npu=npu, inputs=inputs, watch=Watch())
    except EthosgenError as error:
        return Answer("REFUSED", str(error))
    except Exception as error:
        return Answer("BUG", f"{type(error).__name__}: {error}")
    golden = report.golden
    counts = f"{golden.mismatches} of {golden.elements}, {golden.oracle}" if golden else ""
    placed = f"{report.plan.npu_operators} + {len(report.plan.cpu_operators)}"
    words = "; ".join((counts, *report.findings.values()))
    return Answer(report.verdict, words, placed)


def attempt(source: str, path: Path, trees: Path) -> Trial:
    """Try a network with each NPU."""
    start = time.monotonic()
    answers = {npu: simulate(path, npu) for npu in NPUS}
    return Trial(
        source,
        str(path.relative_to(trees)),
        digest_of(path.read_bytes()),
        {npu: answer.verdict for npu, answer in answers.items()},
        {npu: answer.words for npu, answer in answers.items()},
        round(time.monotonic() - start, 1),
    )


def read(results: Path) -> dict[str, Trial]:
    """Return the last trial of each network."""
    return {entry["digest"]: Trial(**entry) for entry in load_lines(results)}


def page(trials: list[Trial], date: str, rest: str) -> str:
    """Return the section of evidence/public.md."""
    sources = sorted({trial.source for trial in trials})
    by_litert = sum(any(", litert" in w for w in t.words.values()) for t in trials)
    head = HEAD.format(
        date=date, count=len(trials), sources=len(sources), npu=NPUS[0], samples=SAMPLES,
        limit=LIMIT_S, litert=by_litert, largest=LARGEST_BYTES // 1_000_000, rest=rest,
    )  # fmt: skip
    columns = ["repository", "networks", *(f"{v}, {n}" for n in NPUS for v in _SIDES)]
    rows = []
    for source in [*sources, "all"]:
        those = [trial for trial in trials if source in (trial.source, "all")]
        counts = [
            sum(trial.verdicts[npu] in verdicts for trial in those)
            for npu in NPUS
            for verdicts in _SIDES.values()
        ]
        rows.append([source, str(len(those)), *map(str, counts)])
    lines = [table(columns, rows), "", *_refused(trials), *_others(trials)]
    return "\n".join([MARK, head, *lines]).rstrip() + "\n"


_SIDES = {
    "equal": ("PASS",),
    "differ": ("FAIL",),
    "refused": ("REFUSED", "NOT COMPARED", "BUG"),
    "late": ("LATE",),
}


def _refused(trials: list[Trial]) -> list[str]:
    """Return the reasons for refusals, with the number of networks for each."""
    counts: Counter[tuple[str, str]] = Counter()
    for trial in trials:
        for npu in NPUS:
            if trial.verdicts[npu] == "REFUSED":
                counts[_class(trial.words[npu]), npu] += 1
    names = [name for name in (*CLASSES, "another reason") if any(counts[name, n] for n in NPUS)]
    rows = [[name, *(str(counts[name, npu]) for npu in NPUS)] for name in names]
    return [table(["refused because", *NPUS], rows)]


def _class(words: str) -> str:
    fits = (name for name, pattern in CLASSES.items() if re.search(pattern, words))
    return next(fits, "another reason")


def _others(trials: list[Trial]) -> list[str]:
    """List the networks that differ, are late or show a bug."""
    lines = [
        f"- {trial.source}, {Path(trial.place).name}, {npu}: {trial.verdicts[npu]}, "
        f"{trial.words[npu]}"
        for trial in trials
        for npu in NPUS
        if trial.verdicts[npu] in ("FAIL", "BUG", "LATE", "NOT COMPARED")
    ]
    return listed("Networks that are neither equal nor refused:", lines)


def write_page(trees: Path, results: Path) -> None:
    """Write the results so far into evidence/public.md, after the page's other sections."""
    trials = sorted(read(results).values(), key=lambda trial: (trial.source, trial.place))
    waiting = len(networks(trees)) - len(trials)
    rest = f", and {waiting} others when time ran out" if waiting > 0 else ""
    before = PAGE.read_text().partition(MARK)[0].rstrip()
    PAGE.write_text(f"{before}\n\n{page(trials, f'{datetime.date.today():%d %B %Y}', rest)}")


def main() -> None:
    """Run the networks that are not in the results yet."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("trees", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--again", nargs="+", default=[], metavar="VERDICT")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    if arguments.page:
        write_page(arguments.trees, arguments.results)
        return
    os.nice(5)
    done = read(arguments.results)
    done = {k: t for k, t in done.items() if not {*t.verdicts.values()} & {*arguments.again}}
    for source, path in networks(arguments.trees):
        if digest_of(path.read_bytes()) not in done:
            add_line(arguments.results, asdict(attempt(source, path, arguments.trees)))


if __name__ == "__main__":
    main()
