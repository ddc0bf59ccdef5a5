"""The ways to cut a run that fit: for each number of parts by rows, the fewest by channels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ethosgen.splitting.grid import Grid
from ethosgen.splitting.means import Means, PartTimes, fits, need, times_of
from ethosgen.splitting.parts import OperatorPart, OperatorRun, part_of, parts_of
from ethosgen.splitting.sums import most_depth, total_cycles, with_sums
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Graph

_DEPTHS = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""The numbers of parts along input channels to try."""
_COLUMNS = (1, 2, 4, 8, 16, 32, 64)
"""The numbers of parts along columns to try, the next only if none fits."""
_IMPOSSIBLE = 1e9
_MOST_ROWS = 14
"""Numbers of parts along rows to try, at most."""
_CHANNELS = 8
"""Channels are cut into multiples of this number, as accelerators compute so many at a time."""


@dataclass(frozen=True)
class Candidate:
    """A way to cut a run; `totals` is how the sums are cut if `cut.depth` is above 1.

    `times` are those of all its parts.
    """

    cut: Grid
    totals: Grid
    times: PartTimes

    @property
    def parts(self) -> int:
        """The number of parts."""
        more = self.totals.parts if self.cut.depth > 1 else 0
        return self.cut.parts * self.cut.depth + more


@dataclass(frozen=True)
class Depths:
    """A layer alone, cut along its input channels: its graph, and the cycles of its operators."""

    graph: Graph
    cycles: tuple[int, ...]

    @property
    def partial(self) -> OperatorRun:
        """The first of the partial sums, which no other exceeds."""
        return OperatorRun(0, 1, self.graph.operators[0].outputs)

    @property
    def total(self) -> OperatorRun:
        """The sum of them all."""
        last = len(self.graph.operators) - 1
        return OperatorRun(last, last + 1, self.graph.operators[last].outputs)


def candidates_of(
    graph: Graph, run: OperatorRun, means: Means, cycles: Sequence[int]
) -> list[Candidate]:
    """Return the ways to cut a run that fit an element; each has few parts of its kind."""
    candidates = [Candidate(cut, Grid(), times) for cut, times in _cuts(graph, run, means, cycles)]
    for depth in _depths(graph, run, means):
        alone = layer_alone(graph, run.start, depth, cycles)
        sums = _cuts(alone.graph, alone.partial, means, alone.cycles)
        totals = _cuts(alone.graph, alone.total, means, alone.cycles)
        if sums and totals:
            total, added = min(totals, key=_busy)
            candidates += (
                Candidate(replace(cut, depth=depth), total, times.of(depth) + added)
                for cut, times in sums
            )
    return candidates


def holds(
    graph: Graph, run: OperatorRun, candidate: Candidate, means: Means, cycles: Sequence[int]
) -> bool:
    """Return whether all parts of a candidate exist and fit, not only the largest."""
    if candidate.cut.depth == 1:
        cases = [(graph, run, candidate.cut)]
    else:
        alone = layer_alone(graph, run.start, candidate.cut.depth, cycles)
        partial = replace(candidate.cut, depth=1)
        cases = [
            (alone.graph, alone.partial, partial),
            (alone.graph, alone.total, candidate.totals),
        ]
    for whole, some, cut in cases:
        parts = parts_of(whole, some, cut)
        if parts is None or not all(fits(part, means) for part in parts):
            return False
    return True


def layer_alone(graph: Graph, operator: int, depth: int, cycles: Sequence[int]) -> Depths:
    """Return a layer alone, cut along its input channels."""
    layer = replace(graph.operators[operator], index=0)
    cut, _ = with_sums(replace(graph, operators=(layer,)), {0: depth})
    total = total_cycles(cut, cut.operators[-1])
    return Depths(cut, (*[pieces(cycles[operator], depth)] * depth, total))


def _busy(pair: tuple[Grid, PartTimes]) -> float:
    return pair[1].busy


def _depths(graph: Graph, run: OperatorRun, means: Means) -> Iterator[int]:
    """Yield the depths to try: for a layer alone whose weights take much of an element's memory."""
    if run.stop - run.start > 1 or not means.sums:
        return
    operator = graph.operators[run.start]
    channels = most_depth(graph, operator)
    if channels > 1 and graph.tensors[operator.inputs[1]].bytes > means.memory_bytes // 4:
        yield from (depth for depth in _DEPTHS if depth <= channels // 2)


class _Sizing:
    """The largest parts of a run's cuts, and the cuts that fit."""

    def __init__(self, graph: Graph, run: OperatorRun, means: Means, cycles: Sequence[int]) -> None:
        self.graph, self.run, self.means, self.cycles = graph, run, means, cycles
        self.limits = Grid.limits(graph.tensors[run.results[-1]].shape)
        self.known: dict[Grid, OperatorPart | None] = {}

    def cuts(self) -> list[tuple[Grid, PartTimes]]:
        """Return cuts whose largest part fits, with the times of all parts."""
        rows, most_columns, channels = self.limits
        for columns in _COLUMNS:
            if columns > most_columns:
                break
            if 1 < self.excess(Grid(rows, columns, channels)) < _IMPOSSIBLE:
                continue  # not even the smallest parts fit
            if frontier := [*self.frontier(columns)]:
                return [(cut, self.times(cut)) for cut in frontier]
        return []

    def frontier(self, columns: int) -> Iterator[Grid]:
        """Yield, from few rows to many, the cuts with the fewest channels that fit."""
        channels = _channel_counts(self.limits[2])
        for rows in _row_counts(self.limits[0]):
            fewest = self.fewest(rows, columns, channels)
            if fewest is None:
                continue
            yield Grid(rows, columns, fewest)
            if self.means.finer:
                more = (Grid(rows, columns, number) for number in channels if number > fewest)
                yield from (cut for cut in more if self.excess(cut) <= 1)
                continue
            if fewest == 1:
                return
            channels = channels[: channels.index(fewest) + 1]

    def fewest(self, rows: int, columns: int, channels: Sequence[int]) -> int | None:
        """Return the fewest parts by channels that fit, None if none do.

        The bytes of parts shrink at most as their number grows, which excludes the next numbers.
        """
        least = 0.0
        for number in channels:
            if number < least:
                continue
            excess = self.excess(Grid(rows, columns, number))
            if excess <= 1:
                return number
            if excess < _IMPOSSIBLE:
                least = number * excess
        return None

    def excess(self, cut: Grid) -> float:
        """Return the share of an element's memory that the largest part takes."""
        part = self.largest(cut)
        return _IMPOSSIBLE if part is None else need(part) / self.means.memory_bytes

    def times(self, cut: Grid) -> PartTimes:
        """Return the times of all parts."""
        part = self.largest(cut)
        assert part is not None
        return times_of(part, self.cycles, self.means).of(cut.parts)

    def largest(self, cut: Grid) -> OperatorPart | None:
        """Return the largest part of a cut, None if there is none."""
        if cut not in self.known:
            tensors = self.graph.tensors
            boxes = {i: cut.largest(tensors[i].shape) for i in self.run.results}
            self.known[cut] = part_of(self.graph, self.run, boxes)
        return self.known[cut]


def _cuts(
    graph: Graph, run: OperatorRun, means: Means, cycles: Sequence[int]
) -> list[tuple[Grid, PartTimes]]:
    return _Sizing(graph, run, means, cycles).cuts() if run.results else []


def _row_counts(size: int) -> list[int]:
    """Return numbers of parts that differ in the longest part, few if there are many."""
    counts = sorted({pieces(size, length) for length in range(1, size + 1)})
    if len(counts) <= _MOST_ROWS:
        return counts
    step = (len(counts) - 1) / (_MOST_ROWS - 1)
    return sorted({counts[round(i * step)] for i in range(_MOST_ROWS)})


def _channel_counts(size: int) -> list[int]:
    """Return numbers of parts of whole blocks of channels, then of fewer channels."""
    counts = {size // block for block in (1, 2, 4) if size % block == 0}
    blocks = size // _CHANNELS
    if size % _CHANNELS == 0:
        counts |= {count for count in range(1, blocks + 1) if blocks % count == 0}
    return sorted(counts | {1, size})
