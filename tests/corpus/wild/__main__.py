"""The command line of random networks; see the package's docstring."""

import argparse
import collections
import os
import random
import sys
from pathlib import Path

from rich.console import Console

from tests import ROOT
from tests.corpus.shrink import describe
from tests.corpus.wild.batch import BAD, run_batch, run_logged
from tests.corpus.wild.graph import make_network
from tests.corpus.wild.page import PAGE, page
from tests.support.pages import load_lines

console = Console(highlight=False, soft_wrap=True, markup=False)

LOG = ROOT / "build" / "wild.jsonl"


def main() -> None:
    """Run the given command; exit with status 1 if a network differs, fails or hangs."""
    arguments = _arguments()
    match arguments.command:
        case "one":
            wild = make_network(arguments.seed)
            console.print(describe(wild.data))
            (verdict,) = run_batch([arguments.seed])
            console.print(f"{verdict.seed} {verdict.setting}: {verdict.verdict} {verdict.why}")
            sys.exit(verdict.verdict in BAD)
        case "table":
            qemu = load_lines(_qemu_log(arguments.log))
            PAGE.write_text(page(load_lines(arguments.log), qemu))
        case "firmware":
            sys.exit(_firmware(arguments))
        case _:
            sys.exit(_run(arguments))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.wild", description=__doc__)
    parser.add_argument("command", choices=["run", "one", "firmware", "table"])
    parser.add_argument("seed", nargs="?", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--start", type=int, help="the first seed; drawn by default")
    parser.add_argument("--log", type=Path, default=LOG)
    return parser.parse_args()


def _run(arguments: argparse.Namespace) -> int:
    start = random.randrange(1 << 30) if arguments.start is None else arguments.start
    console.print(
        f"{arguments.count} networks from seed {start}; log: {os.path.relpath(arguments.log)}"
    )
    counts: collections.Counter[str] = collections.Counter()
    for verdict in run_logged(range(start, start + arguments.count), arguments.log):
        counts[verdict.verdict] += 1
        if verdict.verdict in BAD:
            console.print(
                f"{verdict.seed} {verdict.setting}: {verdict.verdict} {verdict.why}", style="red"
            )
    console.print(", ".join(f"{name} {count}" for name, count in counts.most_common()))
    return int(any(counts[name] for name in BAD))


def _firmware(arguments: argparse.Namespace) -> int:
    """Verify a sample of a run's networks on QEMU; the sample depends on --start."""
    from tests.corpus.wild.firmware import run_firmware, sample_of

    log = load_lines(arguments.log)
    seeds = sample_of(log, arguments.count, arguments.start or 0)
    followed = {entry["seed"]: entry["followed"] for entry in log}
    bad = 0
    for entry in run_firmware(seeds, _qemu_log(arguments.log), followed):
        if entry["verdict"] != "PASS":
            bad += entry["verdict"] == "FAIL"
            console.print(f"{entry['seed']}: {entry['verdict']} {entry.get('why', '')}")
    return int(bool(bad))


def _qemu_log(log: Path) -> Path:
    return log.with_suffix(".qemu.jsonl")


if __name__ == "__main__":
    main()
