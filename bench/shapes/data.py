"""evidence/kernels.json: the figures of all cases, ours and theirs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from bench.command import Figures
from bench.shapes.shape import FLOAT, FRESH, Case
from tests.support.pages import EVIDENCE

RESULTS = EVIDENCE / "kernels.json"
OURS, CMSIS_NN, CLANG, REFERENCE = "ours", "cmsis-nn", "cmsis-nn, clang", "reference"
BUILDS = (CMSIS_NN, CLANG)
"""CMSIS-NN by GCC, and by clang with the rest of TFLM by GCC."""
FASTEST = "fastest"
"""Stands for the one of them that is the fastest at a layer."""
CYCLES, INSTRUCTIONS = "cycles", "instructions"
SAME_SHARE, SAME_INSTRUCTIONS = 0.02, 100
"""TFLM built with CMSIS-NN falls back to the reference kernel where it takes the instructions of
the reference within this share, or this number: the code around the kernel differs by so many."""


@dataclass(frozen=True)
class Figure:
    """A layer on a core: one inference, elements that differ in all, and the code that it needs.

    `constants` are the bytes of constants among those loaded. They and the cycles were not measured
    in old records: None.
    """

    instructions: int
    loaded: int
    stored: int
    mismatches: int
    elements: int
    code: int = 0
    constants: int | None = None
    cycles: int | None = None

    def count(self, unit: str) -> int | None:
        """Return cycles or instructions."""
        return self.cycles if unit == CYCLES else self.instructions

    @property
    def moved(self) -> int:
        """Bytes loaded and stored."""
        return self.loaded + self.stored

    def without(self, other: "Figure") -> "Figure":
        """Return this without another's cycles, instructions and bytes."""
        return Figure(
            self.instructions - other.instructions,
            self.loaded - other.loaded,
            self.stored - other.stored,
            self.mismatches,
            self.elements,
            self.code,
            _less(self.constants, other.constants),
            _less(self.cycles, other.cycles),
        )


def _less(count: int | None, other: int | None) -> int | None:
    return None if count is None or other is None else count - other


FACTS = {"family", "origin", "dtype", "products", "outputs"}
COLUMNS = [field.name for field in fields(Figure)]


@dataclass(frozen=True)
class Row:
    """A case with its figures by core and by whose kernel; those of TFLM without its interpreter.

    `products` are the multiplications of the layer, `outputs` the elements that it makes.
    """

    name: str
    family: str
    origin: str
    dtype: str
    products: int
    outputs: int
    figures: Mapping[str, Mapping[str, Figure]]

    @property
    def sizes(self) -> str:
        """The name without the family and the type."""
        return self.name.removeprefix(self.family).removesuffix(self.dtype).strip()

    def figure(self, core: str, whose: str, unit: str = INSTRUCTIONS) -> Figure | None:
        """Return a figure; None where it was not measured, or CMSIS-NN has no right kernel."""
        figures = self.figures.get(core, {})
        if whose == FASTEST:
            builds = (self.figure(core, build, unit) for build in BUILDS)
            return min(filter(None, builds), key=lambda f: f.count(unit) or 0, default=None)
        if whose in BUILDS and not _has_cmsis_nn(self.dtype, figures, whose):
            return None
        known = figures.get(whose)
        return known if known and known.count(unit) is not None else None

    def rival(self, core: str, unit: str = INSTRUCTIONS) -> Figure | None:
        """Return the figure of CMSIS-NN's fastest build, the reference kernel's without one."""
        return self.figure(core, FASTEST, unit) or self.figure(core, REFERENCE, unit)

    def ratio(self, core: str, whose: str, unit: str = INSTRUCTIONS) -> float | None:
        """Return our cycles or instructions over another's; None without both."""
        figures = (self.figure(core, owner, unit) for owner in (OURS, whose))
        ours, theirs = (figure.count(unit) if figure else None for figure in figures)
        return ours / theirs if ours is not None and theirs else None


def _has_cmsis_nn(dtype: str, figures: Mapping[str, Figure], build: str) -> bool:
    theirs, reference = figures.get(build), figures.get(REFERENCE)
    if dtype == FLOAT or theirs is None or theirs.mismatches:
        return False
    if reference is None:
        return True
    difference = abs(theirs.instructions - reference.instructions)
    return difference > max(SAME_INSTRUCTIONS, SAME_SHARE * reference.instructions)


def load() -> Figures:
    """Return the stored results, empty ones if there are none."""
    empty: Figures = {"columns": COLUMNS, "theirs": {}, "cases": {}}
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else empty


def store(results: Figures) -> None:
    """Write the results, a line for each case."""
    head = {key: value for key, value in results.items() if key != "cases"}
    lines = [
        f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in results["cases"].items()
    ]
    text = json.dumps(head, indent=1).removesuffix("\n}")
    RESULTS.write_text(f'{text},\n "cases": {{\n' + ",\n".join(lines) + "\n }\n}\n")


def draw_afresh(results: Figures, seed: int) -> None:
    """Forget the layers of an earlier fresh draw, unless it had the same seed."""
    if results.get(FRESH) != seed:
        results[FRESH] = seed
        cases = results["cases"].items()
        results["cases"] = {name: row for name, row in cases if row["origin"] != FRESH}


def add_ours(results: Figures, case: Case, core: str, measured: Figures) -> None:
    """Take over what `ours.measure` counted."""
    row = results["cases"].setdefault(case.name, {})
    row |= {
        "family": case.shape.family,
        "origin": case.shape.origin,
        "dtype": case.dtype,
        "products": measured["products"],
        "outputs": measured["outputs"],
    }
    row.setdefault(core, {})[OURS] = [measured[column] for column in COLUMNS]


def add_theirs(results: Figures, measured: Mapping[str, Any]) -> None:
    """Take over the figures of another firmware; those of cases that we lack are left out."""
    core, whose = measured["core"], measured["whose"]
    results["theirs"].setdefault(core, {})[whose] = {
        key: value for key, value in measured.items() if key not in ("cases", "core", "whose")
    }
    for name, values in measured["cases"].items():
        if name in results["cases"]:
            results["cases"][name].setdefault(core, {})[whose] = values


def rows(results: Mapping[str, Any]) -> Iterator[Row]:
    """Yield all cases that were measured."""
    for name, row in results["cases"].items():
        figures = {
            core: dict(_figures(row[core], results["theirs"].get(core, {})))
            for core in row.keys() - FACTS
        }
        facts = {key: row[key] for key in FACTS}
        yield Row(name=name, **facts, figures=figures)


def _figures(
    by_whose: Mapping[str, list[int]], theirs: Mapping[str, Any]
) -> Iterator[tuple[str, Figure]]:
    for whose, values in by_whose.items():
        figure = Figure(*values)
        if whose != OURS:
            figure = figure.without(Figure(*theirs[whose]["empty"]))
        yield whose, figure
