"""Means over the cases of the benchmark: geometric ones of ratios, and sums for each product."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import geometric_mean

from bench.shapes.data import CYCLES, FASTEST, INSTRUCTIONS, OURS, REFERENCE, Row


@dataclass(frozen=True)
class Summary:
    """Some cases on a core, compared with another's kernels where there are any."""

    shapes: int
    mean: float
    above_one: int
    worst: tuple[float, Row]
    moved_mean: float
    ours_per_product: float | None
    theirs_per_product: float | None
    ours_per_output: float
    theirs_per_output: float


def summarize(
    rows: Iterable[Row], core: str, whose: str, unit: str = INSTRUCTIONS
) -> Summary | None:
    """Return the summary of the cases that have both figures in a unit, None if none has."""
    pairs = []
    for row in rows:
        ours, theirs = row.figure(core, OURS, unit), row.figure(core, whose, unit)
        if ours and theirs:
            pairs.append((row, ours, theirs))
    if not pairs:
        return None
    counts = [(ours.count(unit) or 0, theirs.count(unit) or 0) for _, ours, theirs in pairs]
    ratios = [ours / theirs for ours, theirs in counts]
    products = sum(row.products for row, _, _ in pairs)
    outputs = sum(row.outputs for row, _, _ in pairs)
    mine, other = (sum(some) for some in zip(*counts, strict=True))
    worst = max(zip(ratios, (row for row, _, _ in pairs), strict=True), key=lambda pair: pair[0])
    return Summary(
        len(pairs),
        geometric_mean(ratios),
        sum(ratio > 1 for ratio in ratios),
        worst,
        geometric_mean([ours.moved / theirs.moved for _, ours, theirs in pairs]),
        mine / products if products else None,
        other / products if products else None,
        mine / outputs,
        other / outputs,
    )


def unit_of(rows: Iterable[Row], core: str) -> str:
    """Return the unit that decides on a core: cycles where all comparisons have them.

    Layers are compared with the reference kernels where CMSIS-NN has none for their type.
    """
    some = list(rows)
    for whose in (FASTEST, REFERENCE):
        if compared := [row for row in some if row.ratio(core, whose)]:
            is_timed = all(row.ratio(core, whose, CYCLES) for row in compared)
            return CYCLES if is_timed else INSTRUCTIONS
    return INSTRUCTIONS


def families(rows: Sequence[Row], core: str, unit: str = INSTRUCTIONS) -> list[str]:
    """Return the families of some cases, the one with the highest mean first."""
    known = dict.fromkeys(row.family for row in rows)
    return sorted(known, key=lambda family: -_order(rows, core, family, unit))


def _order(rows: Sequence[Row], core: str, family: str, unit: str) -> float:
    some = [row for row in rows if row.family == family]
    for whose, known in product((FASTEST, REFERENCE), (unit, INSTRUCTIONS)):
        if summary := summarize(some, core, whose, known):
            return summary.mean
    return 0.0


def worst(rows: Iterable[Row], core: str, count: int = 10, unit: str = INSTRUCTIONS) -> list[Row]:
    """Return the cases with the highest ratios to CMSIS-NN, or to the reference without it."""
    known = [row for row in rows if row.figure(core, OURS, unit) and row.rival(core, unit)]
    return sorted(known, key=lambda row: -(to_rival(row, core, unit) or 0.0))[:count]


def to_rival(row: Row, core: str, unit: str = INSTRUCTIONS) -> float | None:
    """Return our count over that of CMSIS-NN's fastest build, or of the reference without it.

    Instructions stand in for cycles of a reference kernel that has none.
    """
    for whose, known in ((FASTEST, unit), (REFERENCE, unit), (REFERENCE, INSTRUCTIONS)):
        ratio = row.ratio(core, whose, known)
        if ratio is not None:
            return ratio
    return None
