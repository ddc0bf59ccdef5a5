"""Chooses how a network is cut: it really places several cuts, and keeps the best.

Cuts with few bytes on links take more time on elements, and cuts into many parts spread a sample's
work, but their bytes go far. No simple figure of a cut predicts which of these will limit the
placement. So one weight, of bytes or of parts, goes up or down by a factor as long as that helps.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain

from ethosgen.splitting.means import CostWeights
from ethosgen.stages.task_graph import TaskGraph
from ethosgen_place.layout import Placement
from ethosgen_place.placer import MERITS, Goal
from ethosgen_place.splitting import NetworkSplitter, SplitNetwork
from ethosgen_place.system import Link

_FACTOR = 4.0
_MOST = 4
"""The most steps in each direction."""


@dataclass(frozen=True)
class PlacedCut:
    """A cut network and its placement."""

    cut: SplitNetwork
    layout: Placement


@dataclass(frozen=True)
class CutSearch:
    """The ways to cut a network for a goal; `whole` is the network without cuts if that fits."""

    splitter: NetworkSplitter
    goal: Goal
    link: Link
    whole: SplitNetwork | None = None

    def best(self, place: Callable[[TaskGraph], Placement]) -> PlacedCut:
        """Return the best cut that climbing finds."""
        merit, known = MERITS[self.goal], dict[TaskGraph, PlacedCut]()

        def tried(cut: SplitNetwork) -> PlacedCut:
            if cut.graph not in known:
                known[cut.graph] = PlacedCut(cut, place(cut.graph))
            return known[cut.graph]

        best = first = tried(self._cut(0))
        for direction in (1, -1):
            for step in range(1, _MOST + 1):
                other = tried(self._cut(direction * step))
                if merit(other.layout) >= merit(best.layout):
                    break
                best = other
            if best is not first:
                break
        ways = [best] if self.whole is None else [best, tried(self.whole)]
        return min(ways, key=lambda each: merit(each.layout))

    def named(self, names: Collection[str]) -> SplitNetwork:
        """Return the cut whose tasks have these names, or any if none has."""
        first = [] if self.whole is None else [self.whole]
        steps = sorted(range(-_MOST, _MOST + 1), key=abs)
        for cut in chain(first, (self._cut(step) for step in steps)):
            if {task.name for task in cut.graph.tasks} == set(names):
                return cut
        return self._cut(0)

    def _cut(self, step: int) -> SplitNetwork:
        if self.goal == "throughput":
            return self.splitter.split(CostWeights(links=_FACTOR**step))
        part_s = self.link.latency_s * _FACTOR**step
        return self.splitter.split(CostWeights(busy=0.0, lone=1.0, part=part_s))
