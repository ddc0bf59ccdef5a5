"""A few layers of each family against the stored figures: what `make bench` has time for."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.command import Figures
from bench.shapes import data, ours
from bench.shapes.all import cases
from bench.shapes.data import CYCLES, INSTRUCTIONS, OURS, Figure, Row
from bench.shapes.shape import INT8, INT16, Case
from ethosgen.values.grammar import counted

CORES = ("cortex-m55", "cortex-m33")
MOST_PRODUCTS = 200_000
"""Larger layers take QEMU and the oracle too long."""
MOST_RATIO = 1.02
"""The geometric mean of new over stored figures that is not yet slower."""

Measure = Callable[[Sequence[Case], str], Iterator[Figures]]


@dataclass(frozen=True)
class Spot:
    """Layers of one type on a core: their figures over those stored, and what differs.

    The unit is cycles if all were measured in cycles, now and before, else instructions.
    """

    core: str
    dtype: str
    ratios: Mapping[str, float]
    mismatches: int
    unit: str = INSTRUCTIONS

    @property
    def ratio(self) -> float:
        """The geometric mean."""
        return math.exp(math.fsum(map(math.log, self.ratios.values())) / len(self.ratios))

    def text(self) -> str:
        """Return a line for people."""
        worst = max(self.ratios, key=self.ratios.__getitem__)
        return (
            f"kernels   {counted(len(self.ratios), 'layer')} of {self.dtype} on {self.core}: "
            f"{self.ratio:.3f} of the stored {self.unit}, at most {self.ratios[worst]:.2f} "
            f"({worst}), {self.mismatches} elements differ"
        )

    def misses(self) -> Iterator[str]:
        """Yield a line for each figure that is worse than the stored one."""
        if self.mismatches:
            yield f"{self.mismatches} elements of {self.dtype} layers differ on {self.core}"
        if self.ratio > MOST_RATIO:
            yield (
                f"{self.dtype} layers on {self.core} take {self.ratio:.3f} of the stored "
                f"{self.unit}; measure all with: python -m bench.shapes"
            )


def chosen(rows: Sequence[Row], dtype: str, core: str) -> list[Case]:
    """Return the middle one by products of each family's small layers that were measured."""
    stored = {row.name: row for row in rows if row.figure(core, OURS)}
    families: dict[str, list[Case]] = {}
    for case in cases(dtype):
        if case.name in stored and stored[case.name].products <= MOST_PRODUCTS:
            families.setdefault(case.shape.family, []).append(case)
    return [
        sorted(some, key=lambda case: (stored[case.name].products, case.name))[len(some) // 2]
        for some in families.values()
    ]


def spots(results: Mapping[str, Any], measure: Measure = ours.measure) -> Iterator[Spot]:
    """Measure the chosen layers of each integer type and core."""
    rows = list(data.rows(results))
    known = {row.name: row for row in rows}
    for core in CORES:
        for dtype in (INT8, INT16):
            pairs = {}
            for case, figures in _measured(chosen(rows, dtype, core), core, measure):
                figure = known[case.name].figure(core, OURS)
                assert figure is not None
                pairs[case.name] = figures, figure
            yield _spot(core, dtype, pairs)


def _measured(some: Sequence[Case], core: str, measure: Measure) -> Iterator[tuple[Case, Figures]]:
    return zip(some, measure(some, core), strict=True)


def _spot(core: str, dtype: str, pairs: Mapping[str, tuple[Figures, Figure]]) -> Spot:
    """Return the spot of some layers, each measured now and before."""
    is_timed = all(new.get(CYCLES) and old.cycles for new, old in pairs.values())
    unit = CYCLES if is_timed else INSTRUCTIONS
    ratios = {name: new[unit] / (old.count(unit) or 1) for name, (new, old) in pairs.items()}
    mismatches = sum(new["mismatches"] for new, _ in pairs.values())
    return Spot(core, dtype, ratios, mismatches, unit)


def show(say: Callable[[str], None]) -> bool:
    """Print the figures; return whether nothing is worse than stored."""
    missed: list[str] = []
    for spot in spots(data.load()):
        say(spot.text())
        missed += spot.misses()
    for sentence in missed:
        say(f"MISSED  {sentence}")
    return not missed
