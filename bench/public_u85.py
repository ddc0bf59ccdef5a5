"""Verifies the networks of bench/public.py with U85 on QEMU; a run may be interrupted.

    .venv/bin/python -m bench.public_u85 RESULTS.jsonl [--also NAME=DIR] [--page]

Networks in RESULTS are not run again. At the end, or with --page at once, the results go into
evidence/public.md. Exit status 1 if an output differs.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from bench import markdown
from bench.public import (
    MANY,
    PACKAGES,
    PAGE,
    SAMPLES,
    U85_MARK,
    Published,
    download,
    find,
    verify,
    without_twins,
)
from bench.trials import MARK

NPU = "ethos-u85-256"
HEAD = """
## With {npu}

The same networks by `ethosgen verify` on corstone300 with `--npu {npu}`: the firmware runs
on QEMU, with {samples} random inputs each. {equal} are equal to the oracle, {others} are not,
{refused} are refused. {differ} of {elements} outputs differ.
"""
COLUMNS = ["from", "network", "operators on NPU + CPU", "differ"]

console = Console(highlight=False, soft_wrap=True)


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
    lines = results.read_text().splitlines() if results.is_file() else []
    return {trial.digest: trial for trial in (Trial(**json.loads(line)) for line in lines)}


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
    return Trial(network.source, network.place, digest(network), verdict, words, placed)


def digest(network: Published) -> str:
    """Return the SHA-256 of a network's file, its key in the results."""
    return hashlib.sha256(network.data).hexdigest()


def render(trials: list[Trial]) -> str:
    """Return the page's part."""
    folders: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        folders.setdefault((trial.source, str(Path(trial.place).parent)), []).append(trial)
    head = HEAD.format(
        npu=NPU,
        samples=SAMPLES,
        equal=sum(trial.verdict == "PASS" for trial in trials),
        others=sum(trial.verdict not in ("PASS", "REFUSED") for trial in trials),
        refused=sum(trial.verdict == "REFUSED" for trial in trials),
        differ=f"{sum(trial.counts[0] for trial in trials):,}",
        elements=f"{sum(trial.counts[1] for trial in trials):,}",
    )
    lines = [U85_MARK, head, markdown.row(COLUMNS), markdown.row(["---", "---", "---:", "---:"])]
    for (source, folder), those in folders.items():
        lines += [_folder(source, folder, those)] if len(those) > MANY else map(_line, those)
    refused = [trial for trial in trials if trial.verdict == "REFUSED"]
    lines += ["", "Refused:", ""] if refused else []
    lines += [f"- {Path(trial.place).stem}: {trial.words}" for trial in refused]
    return "\n".join(lines) + "\n"


def _line(trial: Trial) -> str:
    return markdown.row([trial.source, Path(trial.place).stem, trial.placed, trial.cell.lower()])


def _folder(source: str, folder: str, trials: list[Trial]) -> str:
    bad = sum(trial.verdict == "FAIL" for trial in trials)
    compared = sum(trial.verdict in ("PASS", "FAIL") for trial in trials)
    name = f"{Path(folder).name}, {len(trials)} networks"
    return markdown.row([source, name, "-", f"{bad} of {compared} networks"])


def write_page(trials: list[Trial]) -> None:
    """Write the results into evidence/public.md, before the networks of repositories."""
    before, mark, repositories = PAGE.read_text().partition(MARK)
    usual = before.partition(U85_MARK)[0].strip()
    PAGE.write_text(f"{usual}\n\n{render(trials)}\n{mark}{repositories}")


def networks(also: list[str]) -> Iterator[Published]:
    """Yield the networks of the packages, and of directories NAME=DIR."""
    with tempfile.TemporaryDirectory() as directory:
        for item in PACKAGES.items():
            yield from download(*item, Path(directory))
    for pair in also:
        name, _, tree = pair.partition("=")
        yield from find(name, Path(tree))


def main() -> None:
    """Run the networks that are not in the results yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("results", type=Path)
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--page", action="store_true")
    arguments = parser.parse_args()
    os.nice(5)
    done = read(arguments.results)
    for network in [] if arguments.page else without_twins(networks(arguments.also)):
        if digest(network) not in done:
            trial = done[digest(network)] = attempt(network)
            with arguments.results.open("a") as file:
                file.write(json.dumps(asdict(trial)) + "\n")
    write_page(list(done.values()))
    sys.exit(any(trial.verdict == "FAIL" for trial in done.values()))


if __name__ == "__main__":
    main()
