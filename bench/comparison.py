"""Compares networks, NPUs and boards: writes evidence/compare.md.

    .venv/bin/python -m bench.comparison                  # all, and evidence/compare.svg
    .venv/bin/python -m bench.comparison fronts           # one part, the others are kept
    .venv/bin/python -m bench.comparison --render         # only the page, from compare.json

The networks are those of the bench. Exit status 1 if an output differs from the oracle's.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from bench.measure import MODELS
from ethosgen.board import load_board
from ethosgen.commands.sizes import size_text
from ethosgen.cycles.pace import PACE
from ethosgen.plots.costs import draw
from ethosgen.studies.comparison import ComparisonRequest, compare
from ethosgen.values.configurations import ComparisonReport, Cost, Result, Setting
from ethosgen.values.schedule import Schedule, Strategy
from ethosgen.values.time import rounded
from ethosgen.values.watch import Watch
from tests.support.pages import EVIDENCE, between, listed, load, store, table, tell

RESULTS, PAGE, PLOT = (EVIDENCE / f"compare.{suffix}" for suffix in ("json", "md", "svg"))
CHOICE = EVIDENCE / "choice.json"
FRONTS = "fronts"
KWS, VWW, AD = "kws_dscnn_int8", "vww_mobilenet_int8", "ad_autoencoder_int8"
END = "<!-- end -->"

Row = dict[str, Any]
Rows = Sequence[Row]


def _files(*names: str) -> tuple[Path, ...]:
    return tuple(MODELS / f"{name}.tflite" for name in names)


PARTS: Mapping[str, ComparisonRequest] = {
    "npus": ComparisonRequest(_files(KWS), npus=("all", "none"), memory_modes=("all",)),
    "boards": ComparisonRequest(
        _files(KWS, VWW, AD),
        boards=(
            *("alif-e7-he", "alif-e7-hp", "ra8p1", "imx93-m33"),
            *("nrf52840dk", "nucleo-f446re", "rpi-pico2", "microbit"),
        ),
        npus=("all", "none"),
    ),
    FRONTS: ComparisonRequest(
        _files(KWS, VWW),
        npus=("ethos-u55-128", "ethos-u65-256", "ethos-u85-256"),
        memory_modes=("shared_sram", "dedicated_sram"),
        front=True,
    ),
}
"""What each table of the page compares."""


def measure(part: str) -> Row:
    """Return a part's results."""
    row: Row = compare(PARTS[part], Watch(_say)).as_json()
    return row


def picture(results: Mapping[str, Row]) -> bytes:
    """Return the picture of the fronts."""
    return draw(ComparisonReport(tuple(map(_result, results[FRONTS]["results"])), {}), ".svg")


def _result(row: Row) -> Result:
    """Return a result with what the picture shows."""
    schedule = Schedule(Strategy(row["strategy"]), row["arena_limit_bytes"])
    setting = Setting(row["network"], row["board"], row["npu"], row["memory_mode"], schedule)
    if row["cycles"] is None:
        return Result(setting, refusal=row["refusal"])
    names = {field.name for field in fields(Cost)} - {"model_cycles", "energy", "without"}
    figures = {name: row[name] for name in names}
    cost = Cost(**figures, model_cycles=row["npu_model_cycles"])
    return Result(setting, cost, misfit=row["misfit"] or "", on_front=row["on_front"])


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _mark(part: str) -> str:
    return f"<!-- {part}: written by python -m bench.comparison -->"


def with_tables(page: str, results: Mapping[str, Row]) -> str:
    """Return the page with each table between its marks."""
    tables = {part: _table(part, results[part]["results"]) for part in PARTS}
    tables["estimates"] = _estimates(results["boards"]["results"] + results["npus"]["results"])
    for part, text in tables.items():
        page = between(page, _mark(part), END, f"\n\n{text}\n\n")
    return page


def _table(part: str, rows: Rows) -> str:
    """Return the rows with figures, then the reasons of the others."""
    several = {key for key in ("network", "board") if len({row[key] for row in rows}) > 1}
    titles = [*several_titles(several), "NPU", "memory mode"]
    if part == FRONTS:
        titles += ["schedule", "Vela's cycles", "NPU model's"]
    titles += ["cycles", "ms", "SRAM", "flash", "energy", "outputs"]
    lines = [_cells(part, row, several) for row in rows if row["cycles"] is not None]
    refused = [row for row in rows if row["refusal"]]
    told = [
        f"- {row['network']}, {row['npu']}, {row['memory_mode']}: {row['refusal']}"
        for row in refused
    ]
    return "\n".join([table(titles, lines), *listed("Refused:", told)])


def several_titles(several: set[str]) -> Iterator[str]:
    """Yield the columns that name the network and the board, where there are several."""
    yield from (key for key in ("network", "board") if key in several)


def _cells(part: str, row: Row, several: set[str]) -> list[str]:
    star = "**" if row["on_front"] else ""
    cells = [*(row[key] for key in several_titles(several)), f"{star}{row['npu']}{star}"]
    cells.append(row["memory_mode"] + (" (too large)" if row["misfit"] else ""))
    if part == FRONTS:
        limit = row["arena_limit_bytes"]
        cells += [row["strategy"] + (f" ≤ {size_text(limit)}" if limit else "")]
        cells += [_number(row["npu_cycles"]), _number(row["npu_model_cycles"])]
    more = " + ?" if row["unknown_operators"] else ""
    flash, energy = row["constant_bytes"] + (row["code_bytes"] or 0), row["energy_microjoules"]
    equal = f"{row['elements']:,} equal" if row["exact"] else f"{row['mismatches']} differ"
    return [
        *cells,
        f"{row['cycles']:,}{more}",
        "-" if row["milliseconds"] is None else f"{rounded(row['milliseconds']):,g}{more}",
        size_text(row["sram_bytes"]),
        size_text(flash),
        "-" if energy is None else f"{energy:,.0f} µJ",
        equal if row["exact"] is not None else "-",
    ]


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _estimates(rows: Rows) -> str:
    """Return estimates of the CPU alone beside the instructions that evidence/choice.md counted."""
    counted: Mapping[str, Row] = load(CHOICE)["runs"]
    lines = []
    for core, board, run in (
        ("Cortex-M55 with Helium", "alif-e7-he", "cpu"),
        ("Cortex-M33 with DSP instructions", "rpi-pico2", "m33"),
    ):
        for row in rows:
            if (row["board"], row["npu"]) == (board, "none") and row["network"] in counted[run]:
                real = counted[run][row["network"]]["instructions"]
                ours = round(row["cpu_cycles"] / PACE[load_board(board).cpu.core])
                lines.append(
                    [*(core, row["network"], f"{ours:,}", f"{real:,}"), f"{ours / real - 1:+.1%}"]
                )
    return table(["core", "network", "estimate", "counted on QEMU", "difference"], lines)


def misses(results: Mapping[str, Row]) -> list[str]:
    """Return the rows whose outputs differ, or were not compared."""
    rows = [row for part in results.values() for row in part["results"]]
    return [
        f"{row['network']} on {row['board']}, {row['npu']}, {row['memory_mode']}"
        for row in rows
        if row["cycles"] is not None and not row["exact"]
    ]


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.comparison")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--render", action="store_true", help="write the page from the JSON file")
    arguments = parser.parse_args()
    results = load(RESULTS, {})
    for part in () if arguments.render else arguments.parts or PARTS:
        results[part] = measure(part)
        store(RESULTS, results)
    PAGE.write_text(with_tables(PAGE.read_text(), results))
    PLOT.write_bytes(picture(results))
    return tell(misses(results), "DIFFERS")


if __name__ == "__main__":
    sys.exit(main())
