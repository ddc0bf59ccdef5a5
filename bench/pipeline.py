"""Measures pipelines: `python -m bench.pipeline [NETWORK …]` writes evidence/pipeline.md.

Each network is cut for 2, 3 and 8 Corstone-300 with an Ethos-U55, in shared memory and on serial
lines, and runs on QEMU. evidence/pipeline.json keeps the figures, so that networks can be measured
one at a time; --render only writes the table.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.measure import networks
from ethosgen.board import load_board
from ethosgen.board.system import uniform_system
from ethosgen.board.system_facts import LinkKind
from ethosgen.flow.planning import read
from ethosgen.stages.cuts import positions
from ethosgen.systems.elements import build_pipeline, run_pipeline
from ethosgen.systems.staging import create_pipeline
from ethosgen.values.grammar import counted
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Criteria, Inputs
from tests.support.pages import EVIDENCE, between, load, store, table

RESULTS, PAGE = EVIDENCE / "pipeline.json", EVIDENCE / "pipeline.md"
BEGIN = "<!-- figures: written by python -m bench.pipeline -->"
END = "<!-- end of figures -->"
LINKS: tuple[LinkKind, ...] = ("serial", "shared")
BOARD, NPU = "corstone300", "ethos-u55-128"
ELEMENTS = (2, 3, 8)
SAMPLES = 32
HEAD = [
    *("network", "link", "elements", "an output every", "throughput"),
    *("latency", "latency, full", "slowest"),
]

Row = dict[str, Any]


def measured(file: Path) -> list[Row]:
    """Return the figures of one network with each link and number of elements."""
    most = len(positions(read(file, None, Watch()).graph)) - 1
    rows = []
    for link in LINKS:
        for count in ELEMENTS:
            if count <= most:
                sys.stderr.write(f"{file.stem} on {counted(count, 'element')}, {link}\n")
                rows.append(_run(file, count, link))
    return rows


def _run(file: Path, count: int, link: LinkKind) -> Row:
    network, watch = read(file, None, Watch()), Watch()
    system = uniform_system(load_board(BOARD), NPU, None, count, link)
    with tempfile.TemporaryDirectory(prefix="ethosgen-") as folder:
        place = Path(folder) / "pipeline"
        create_pipeline(network, system, EXACT, place, watch)
        build_pipeline(place, watch)
        report = run_pipeline(place, Inputs(None, SAMPLES, 0), Criteria(), None, watch)
    golden = report.golden
    return {
        "network": file.stem,
        "link": link,
        "count": count,
        "verdict": report.verdict,
        "samples": report.samples,
        "elements": golden.elements if golden else 0,
        "mismatches": golden.mismatches if golden else None,
        "interval": report.interval,
        "latency": report.latency,
        "full_latency": report.full_latency,
        "alone": report.alone,
        "slowest": report.slowest.name,
        "cycles": [element.cycles for element in report.elements],
        "estimated": [element.estimated for element in report.elements],
    }


def text(rows: Sequence[Row]) -> str:
    """Return the page's section on figures."""
    lines = [[str(cell) for cell in cells] for row in _ordered(rows) for cells in _cells(row)]
    equal = sum(row["elements"] for row in rows)
    runs = counted(len(rows), "run")
    wrong = sum(row["mismatches"] for row in rows)
    return (
        f"In {runs} of {SAMPLES} random samples each, {wrong} of {equal:,} outputs "
        f"differ from TensorFlow Lite Micro's.\n\n{table(HEAD, lines)}"
    )


def _ordered(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["network"], row["link"] == "serial", row["count"]))


def _cells(row: Row) -> list[list[object]]:
    """Return a row's line, after one for a single element before the first of a network."""
    alone, interval = row["alone"], row["interval"]
    line = [
        *(row["network"], row["link"], row["count"], f"{interval:,}", f"{alone / interval:.2f}"),
        *(f"{row['latency']:,}", f"{row['full_latency']:,}", row["slowest"]),
    ]
    if (row["link"], row["count"]) != (LINKS[1], ELEMENTS[0]):
        return [line]
    single = [row["network"], "", 1, f"{alone:,}", "1.00", f"{alone:,}", f"{alone:,}", ""]
    return [single, line]


def with_section(page: str, rows: Sequence[Row]) -> str:
    """Return the page with the figures between its marks."""
    return between(page, BEGIN, END, f"\n\n{text(rows)}\n\n")


def main() -> int:
    """Measure, and write the figures; status 1 if outputs differ."""
    parser = argparse.ArgumentParser(prog="python -m bench.pipeline")
    parser.add_argument("names", nargs="*", metavar="NETWORK", help="what to measure; all")
    parser.add_argument("--render", action="store_true", help="write the table from the JSON file")
    arguments = parser.parse_args()
    there = {file.stem: file for file in networks()}
    unknown = set(arguments.names) - set(there)
    if unknown:
        parser.error(f"no network is named {', '.join(sorted(unknown))}; there are {list(there)}")
    rows: list[Row] = load(RESULTS, [])
    for name in () if arguments.render else arguments.names or there:
        rows = [row for row in rows if row["network"] != name] + measured(there[name])
        store(RESULTS, _ordered(rows))
    PAGE.write_text(with_section(PAGE.read_text(), rows))
    return 0 if all(row["verdict"] == "PASS" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
