"""Means over the cases of the benchmark: geometric ones of ratios, and sums for each product."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from bench.shapes.data import CMSIS_NN, OURS, REFERENCE, Row


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


def summarize(rows: Iterable[Row], core: str, whose: str) -> Summary | None:
    """Return the summary of the cases that have both figures, None if none has."""
    pairs = []
    for row in rows:
        ours, theirs = row.figure(core, OURS), row.figure(core, whose)
        if ours and theirs:
            pairs.append((row, ours, theirs))
    if not pairs:
        return None
    ratios = [ours.instructions / theirs.instructions for _, ours, theirs in pairs]
    products = sum(row.products for row, _, _ in pairs)
    outputs = sum(row.outputs for row, _, _ in pairs)
    mine = sum(ours.instructions for _, ours, _ in pairs)
    other = sum(theirs.instructions for _, _, theirs in pairs)
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


def families(rows: Sequence[Row], core: str) -> list[str]:
    """Return the families of some cases, the one with the highest mean first."""
    known = dict.fromkeys(row.family for row in rows)
    return sorted(known, key=lambda family: -_order(rows, core, family))


def _order(rows: Sequence[Row], core: str, family: str) -> float:
    some = [row for row in rows if row.family == family]
    summary = summarize(some, core, CMSIS_NN) or summarize(some, core, REFERENCE)
    return summary.mean if summary else 0.0


def worst(rows: Iterable[Row], core: str, count: int = 10) -> list[Row]:
    """Return the cases with the highest ratios to CMSIS-NN, or to the reference without it."""
    known = [row for row in rows if row.figure(core, OURS) and row.rival(core)]
    return sorted(known, key=lambda row: -to_rival(row, core))[:count]


def to_rival(row: Row, core: str) -> float:
    """Return our instructions over those of CMSIS-NN, or of the reference without it."""
    ours, theirs = row.figure(core, OURS), row.rival(core)
    assert ours is not None and theirs is not None
    return ours.instructions / theirs.instructions
