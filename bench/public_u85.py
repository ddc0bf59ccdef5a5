"""Verifies the networks of bench/public.py with U85 on QEMU; a run may be interrupted.

    .venv/bin/python -m bench.public_u85 RESULTS.jsonl [--also NAME=DIR] [--page]

Networks in RESULTS are not run again. At the end, or with --page at once, the results go into
evidence/public.md. Exit status 1 if an output differs.
"""

import argparse
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.public import MANY, PAGE, SAMPLES, U85_MARK, Published, by_folder, networks, verify
from bench.trials import MARK
from tests.support.pages import add_line, console, digest_of, listed, load_lines, table

NPU = "ethos-u85-256"
HEAD = """
## With {npu}

The same networks by `ethosgen verify` on corstone300 with `--npu {npu}`: the firmware runs
on QEMU, with {samples} random inputs each. {equal} are equal to the oracle, {others} are not,
{refused} are refused. {differ} of {elements} outputs differ.
"""
COLUMNS = ["from", "network", "operators on NPU + CPU", "differ"]


@dataclass(frozen=True)
class Trial:
    """The result for a network; `placed` has its operators on the NPU and on the CPU."""

    source: str
    place: str
    digest: str
    verdict: str
    words: str
    placed: str

    @property
    def folder(self) -> str:
        """The file's folder in its package."""
        return str(Path(self.place).parent)

    @property
    def cell(self) -> str:
        """What differs, or why nothing was compared."""
        return self.words.partition(", ")[0] if self.verdict in ("PASS", "FAIL") else self.verdict

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of elements that differ, and of all."""
        if self.verdict not in ("PASS", "FAIL"):
            return 0, 0
        differ, _, elements = self.cell.partition(" of ")
        return int(differ.replace(",", "")), int(elements.replace(",", ""))


def read(results: Path) -> dict[str, Trial]:
    """Return the result of each network."""
    return {entry["digest"]: Trial(**entry) for entry in load_lines(results)}


def attempt(network: Published) -> Trial:
    """Try a network."""
    console.print(f"  {network.source}: {network.name}")
    trial = verify(network, NPU)
    verdict, words, placed = "REFUSED", trial.refusal, "-"
    if trial.answer is not None:
        verdict, words = (
            trial.answer["verdict"],
            f"{trial.cell}, {', '.join(trial.answer['oracles'])}",
        )
        placed = f"{trial.answer['npu']['npu_operators']} + {trial.answer['npu']['cpu_operators']}"
    return Trial(network.source, network.place, digest_of(network.data), verdict, words, placed)


def render(trials: list[Trial]) -> str:
    """Return the page's part."""
    head = HEAD.format(
        npu=NPU,
        samples=SAMPLES,
        equal=sum(trial.verdict == "PASS" for trial in trials),
        others=sum(trial.verdict not in ("PASS", "REFUSED") for trial in trials),
        refused=sum(trial.verdict == "REFUSED" for trial in trials),
        differ=f"{sum(trial.counts[0] for trial in trials):,}",
        elements=f"{sum(trial.counts[1] for trial in trials):,}",
    )
    rows: list[list[str]] = []
    for (source, folder), those in by_folder(trials, lambda trial: (trial.source, trial.folder)):
        rows += [_folder(source, folder, those)] if len(those) > MANY else map(_line, those)
    refused = [t for t in trials if t.verdict == "REFUSED"]
    told = listed("Refused:", [f"- {Path(t.place).stem}: {t.words}" for t in refused])
    return "\n".join([U85_MARK, head, table(COLUMNS, rows, 2), *told]) + "\n"


def _line(trial: Trial) -> list[str]:
    return [trial.source, Path(trial.place).stem, trial.placed, trial.cell.lower()]


def _folder(source: str, folder: str, trials: list[Trial]) -> list[str]:
    bad = sum(trial.verdict == "FAIL" for trial in trials)
    compared = sum(trial.verdict in ("PASS", "FAIL") for trial in trials)
    name = f"{Path(folder).name}, {len(trials)} networks"
    return [source, name, "-", f"{bad} of {compared} networks"]


def write_page(trials: list[Trial]) -> None:
    """Write the results into evidence/public.md, before the networks of repositories."""
    before, mark, repositories = PAGE.read_text().partition(MARK)
    usual = before.partition(U85_MARK)[0].strip()
    PAGE.write_text(f"{usual}\n\n{render(trials)}\n{mark}{repositories}")


def main() -> None:
    """Run the networks that are not in the results yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    os.nice(5)
    done = read(arguments.results)
    for network in [] if arguments.page else networks(arguments.also):
        if digest_of(network.data) not in done:
            trial = done[digest_of(network.data)] = attempt(network)
            add_line(arguments.results, asdict(trial))
    write_page(list(done.values()))
    sys.exit(any(trial.verdict == "FAIL" for trial in done.values()))


if __name__ == "__main__":
    main()
