"""Chooses runs of operators, and how each is cut, so that all parts fit and cost little.

The runs are chosen by dynamic programming, since costs of runs add up. If there are more parts than
elements, each part gets a price, which rises until there are few enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ethosgen.splitting.candidates import Candidate, candidates_of, holds
from ethosgen.splitting.grid import Grid
from ethosgen.splitting.means import CostWeights, Means
from ethosgen.splitting.parts import OperatorPart, OperatorRun, parts_of, results_of
from ethosgen.splitting.sums import total_cycles, with_sums
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Graph

_LONGEST = 8
"""The most pieces between boundaries that one run has."""
_FIRST_PRICE, _MOST_PRICE = 1e-8, 1.0
"""Seconds."""


@dataclass(frozen=True)
class Chosen:
    """A run of the original operators, and how it is cut."""

    run: OperatorRun
    candidate: Candidate


@dataclass(frozen=True)
class SplitRun:
    """A run of a cut graph with its parts.

    `origin` are the first and the last operator of the original graph.
    """

    run: OperatorRun
    cut: Grid
    parts: tuple[OperatorPart, ...]
    origin: tuple[int, int]


@dataclass(frozen=True)
class Split:
    """A graph whose layers may be cut along input channels, its operators' cycles, and its runs."""

    graph: Graph
    cycles: tuple[int, ...]
    runs: tuple[SplitRun, ...]


class Splitter:
    """Cuts a graph into parts, by any weights; it keeps the candidates of runs.

    `cycles` are those of operators. Runs start and end at `boundaries`, which include both ends;
    `merges` tells whether they may extend over several. `always` demands that all runs are cut that
    can be, and then none extends over several.
    """

    def __init__(
        self,
        graph: Graph,
        cycles: Sequence[int],
        boundaries: Sequence[int],
        means: Means,
        *,
        merges: bool = True,
        always: bool = False,
    ) -> None:
        self.graph, self.cycles, self.means = graph, cycles, means
        self.boundaries, self.always = boundaries, always
        self.longest = _LONGEST if merges and not always else 1
        self.known: dict[tuple[int, int], tuple[OperatorRun, list[Candidate]]] = {}

    def split(self, weights: CostWeights) -> Split | int:
        """Return the cheapest split, or the start of a run of which no part fits."""
        price = 0.0
        while True:
            chosen = self.cheapest(replace(weights, part=weights.part + price))
            if isinstance(chosen, int):
                return self.boundaries[chosen]
            if self.drop_false(chosen):
                continue
            parts = sum(each.candidate.parts for each in chosen)
            if parts <= self.means.elements or price > _MOST_PRICE:
                return split_of(self.graph, self.cycles, chosen)
            price = max(_FIRST_PRICE, 2 * price)

    def candidates(self, first: int, end: int) -> tuple[OperatorRun, list[Candidate]]:
        """Return the run between two boundaries, by number, and the ways to cut it."""
        if (first, end) not in self.known:
            start, stop = self.boundaries[first], self.boundaries[end]
            run = OperatorRun(start, stop, results_of(self.graph, start, stop))
            candidates = candidates_of(self.graph, run, self.means, self.cycles)
            self.known[first, end] = run, candidates
        return self.known[first, end]

    def cheapest(self, weights: CostWeights) -> list[Chosen] | int:
        """Return the runs with the least cost, or the number of a boundary that none reaches."""
        count = len(self.boundaries) - 1
        costs, last = [0.0], list[tuple[int, Chosen] | None]([None])
        for end in range(1, count + 1):
            options = []
            for first in range(max(0, end - self.longest), end):
                run, candidates = self.candidates(first, end)
                cut = [each for each in candidates if each.parts > 1] if self.always else []
                for each in cut or candidates:
                    cost = costs[first] + weights.cost(each.times, each.parts)
                    options.append((cost, first, Chosen(run, each)))
            if not options and self.longest == 1:
                return end - 1
            best = min(options, key=_first, default=(float("inf"), 0, None))
            costs.append(best[0])
            last.append(None if best[2] is None else (best[1], best[2]))
        if last[count] is None:
            return next(end for end in range(count, 0, -1) if last[end - 1] or end == 1) - 1
        chosen, end = [], count
        while (step := last[end]) is not None:
            end = step[0]
            chosen.append(step[1])
        return chosen[::-1]

    def drop_false(self, chosen: Sequence[Chosen]) -> bool:
        """Forget candidates that do not hold; return whether there were any."""
        bad = [
            each
            for each in chosen
            if not holds(self.graph, each.run, each.candidate, self.means, self.cycles)
        ]
        for each in bad:
            place = self.boundaries.index(each.run.start), self.boundaries.index(each.run.stop)
            self.known[place][1].remove(each.candidate)
        return bool(bad)


def _first(option: tuple[float, int, Chosen | None]) -> float:
    return option[0]


def split_of(graph: Graph, cycles: Sequence[int], chosen: Sequence[Chosen]) -> Split:
    """Return the parts of chosen runs."""
    depths = {each.run.start: each.candidate.cut.depth for each in chosen}
    deep = {operator: depth for operator, depth in depths.items() if depth > 1}
    cut, became = with_sums(graph, deep)
    works = [0] * len(cut.operators)
    for operator, numbers in became.items():
        for number in numbers:
            works[number] = pieces(cycles[operator], depths.get(operator, 1))
        if operator in deep:
            works[numbers[-1]] = total_cycles(cut, cut.operators[numbers[-1]])
    runs = []
    for each in chosen:
        first, last = became[each.run.start], became[each.run.stop - 1]
        origin = each.run.start, each.run.stop - 1
        for run, way in _runs(cut, each, first.start, last.stop):
            parts = parts_of(cut, run, way)
            assert parts is not None, "it was looked at before"
            runs.append(SplitRun(run, way, tuple(parts), origin))
    return Split(cut, tuple(works), tuple(runs))


def _runs(graph: Graph, chosen: Chosen, start: int, stop: int) -> list[tuple[OperatorRun, Grid]]:
    """Return the runs of a cut graph that a run became: with depth, each sum is one."""
    cut = chosen.candidate.cut
    if cut.depth == 1:
        return [(OperatorRun(start, stop, chosen.run.results), cut)]
    sums = [
        (OperatorRun(number, number + 1, graph.operators[number].outputs), replace(cut, depth=1))
        for number in range(start, stop - 1)
    ]
    total = OperatorRun(stop - 1, stop, chosen.run.results)
    return [*sums, (total, chosen.candidate.totals)]
