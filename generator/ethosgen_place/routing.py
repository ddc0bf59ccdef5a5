"""The ways of transfers through a mesh with broken links.

A transfer goes along x first, then along y. If a link of that way is broken, it goes along y first;
if one of that way is broken, too, it takes a shortest way around.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ethosgen_place.arrays import Floats, Ints
from ethosgen_place.system import STEPS, Mesh, MeshSystem
from ethosgen_place.traffic import (
    EAST,
    NORTH,
    SOUTH,
    WEST,
    Flows,
    hops,
    link_bytes,
    route,
)

_BACK = {EAST: WEST, WEST: EAST, SOUTH: NORTH, NORTH: SOUTH}


@dataclass(frozen=True)
class Routing:
    """The ways in a mesh; `broken` are the numbers of its broken links."""

    mesh: Mesh
    broken: frozenset[int] = frozenset()
    _around: dict[tuple[int, int], Sequence[int]] = field(default_factory=dict, compare=False)

    def route(self, sender: int, receiver: int) -> Sequence[int]:
        """Return the numbers of the links between two connected elements, in order."""
        usual = route(sender, receiver, self.mesh)
        if self.broken.isdisjoint(usual):
            return usual
        if (sender, receiver) not in self._around:
            back = route(receiver, sender, self.mesh)
            turned = [self._opposite(link) for link in reversed(back)]  # along y first
            is_whole = self.broken.isdisjoint(turned)
            way = turned if is_whole else self._shortest(sender, receiver)
            self._around[sender, receiver] = way
        return self._around[sender, receiver]

    def hops(self, flows: Flows, elements: Ints) -> Ints:
        """Return the number of links between each pair, if replica r is on `elements[r]`."""
        counts = hops(flows, elements, self.mesh)
        for index in self._diverted(flows, elements):
            counts[index] = len(self._way(flows, elements, index))
        return counts

    def link_bytes(self, flows: Flows, elements: Ints) -> Floats:
        """Return the bytes on each link for each sample, by the link's number."""
        diverted = self._diverted(flows, elements)
        straight = np.delete(np.arange(len(flows.bytes)), diverted)
        loads = link_bytes(flows.some(straight), elements, self.mesh)
        for index in diverted:
            np.add.at(loads, list(self._way(flows, elements, index)), flows.bytes[index])
        return loads

    def _way(self, flows: Flows, elements: Ints, index: int) -> Sequence[int]:
        ends = elements[flows.senders[index]], elements[flows.receivers[index]]
        return self.route(int(ends[0]), int(ends[1]))

    def _diverted(self, flows: Flows, elements: Ints) -> list[int]:
        """Return the flows whose usual way has a broken link."""
        if not self.broken or not len(flows.bytes):
            return []
        y, x = np.divmod(elements, self.mesh.width)
        x0, y0, x1, y1 = x[flows.senders], y[flows.senders], x[flows.receivers], y[flows.receivers]
        met = self._met(EAST, y0, x0, x1) + self._met(WEST, y0, x1 + 1, x0 + 1)
        met += self._met(SOUTH, x1, y0, y1) + self._met(NORTH, x1, y1 + 1, y0 + 1)
        return [int(index) for index in np.flatnonzero(met)]

    def _met(self, direction: int, line: Ints, start: Ints, end: Ints) -> Ints:
        """Return the broken links of one direction that leave start, start + 1, …, end - 1."""
        before = self._before[direction]
        some = start < end
        first, last = np.where(some, start, 0), np.where(some, end, 0)
        return before[line, last] - before[line, first]

    @cached_property
    def _before(self) -> Sequence[Ints]:
        """The broken links of each direction in a row, or a column, before each element."""
        counts = []
        for direction in range(4):
            grid = np.zeros((self.mesh.height, self.mesh.width), np.int64)
            for link in self.broken:
                if link % 4 == direction:
                    grid.flat[link // 4] = 1
            lines = grid if direction in (EAST, WEST) else grid.T
            counts.append(np.pad(np.cumsum(lines, axis=1), ((0, 0), (1, 0))))
        return counts

    def _opposite(self, link: int) -> int:
        """Return the number of the link in the other direction."""
        element, direction = divmod(link, 4)
        dx, dy = STEPS[direction]
        return 4 * (element + dx + dy * self.mesh.width) + _BACK[direction]

    def _shortest(self, sender: int, receiver: int) -> Sequence[int]:
        came: dict[int, int] = {sender: -1}
        waiting = deque([sender])
        while receiver not in came:
            here = waiting.popleft()
            for direction in range(4):
                link, there = 4 * here + direction, self.mesh.neighbour(here, STEPS[direction])
                if there is not None and there not in came and link not in self.broken:
                    came[there] = link
                    waiting.append(there)
        links: list[int] = []
        place = receiver
        while place != sender:
            links.append(came[place])
            place = came[place] // 4
        return links[::-1]


def routing_of(system: MeshSystem) -> Routing:
    """Return the ways in a system."""
    links = set()
    for first, second in system.broken_pairs:
        is_in_row = first // system.mesh.width == second // system.mesh.width
        direction = EAST if is_in_row else SOUTH
        links |= {4 * first + direction, 4 * second + _BACK[direction]}
    return Routing(system.mesh, frozenset(links))
