"""Measures accelerators/acl against TensorFlow Lite Micro; writes evidence/acl.*.

ARM_COMPUTE_PATH=… python -m tests.support.acl_page [--table] (--table: only the table, as measured)
"""

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ethosgen.backend.wrapped.accelerator import load_wrapped
from ethosgen.values.watch import Watch
from tests.support.pages import EVIDENCE, between, load, store, table

PAGE, FIGURES = EVIDENCE / "acl.md", EVIDENCE / "acl.json"
START, END = "<!-- measured: start -->", "<!-- measured: end -->"
ADVICE = "run: python -m tests.support.acl_page --table"
SEEDS = (0, 10_000, 20_000)
_HEAD = ("operator", "type", "networks", "outputs", "differ", "largest difference", "taken with")


def measure() -> list[dict[str, Any]]:
    """Try each operation with networks of each seed; the largest difference is in steps."""
    from ethosgen.studies.acceptance import check_accelerator

    rows: dict[int, dict[str, Any]] = {}
    accelerator = load_wrapped("acl")
    dtypes = {chain.number: chain.dtypes[0] for chain in accelerator.chains}
    for seed in SEEDS:
        for result in check_accelerator(accelerator, seed, Watch()):
            row = dataclasses.asdict(result)
            own = rows.setdefault(
                result.number,
                {"operator": result.chain, "dtype": dtypes[result.number], "steps": result.steps}
                | dict.fromkeys(("networks", "elements", "differing", "largest"), 0),
            )
            for key in ("networks", "elements", "differing"):
                own[key] += row[key]
            own["largest"] = max(own["largest"], row["largest"])
            print(own, flush=True)
    return list(rows.values())


def with_table(page: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page with the table of what was measured."""
    text = table(_HEAD, _lines(rows), len(_HEAD))
    return between(page, START, END, f"\n{text}\n")


def _lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    for row in rows:
        share = f"{100 * row['differing'] / row['elements']:.2g} %" if row["differing"] else "none"
        largest = f"{row['largest']:.2g}" if row["differing"] else "0"
        largest += " steps" if row["dtype"] == "float32" and row["differing"] else ""
        need = f"`--allow-difference {row['steps']:g}`" if row["steps"] else "always"
        code = next(part for part in row["operator"].split(" + ") if not part.endswith("?"))
        counts = [str(row["networks"]), f"{row['elements']:,}"]
        yield [code, row["dtype"], *counts, share, largest, need]


if __name__ == "__main__":
    if "--table" not in sys.argv:
        store(FIGURES, measure())
    PAGE.write_text(with_table(PAGE.read_text(), load(FIGURES)))
