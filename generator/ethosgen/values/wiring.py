"""The graph of a pipeline's stages: what each hands over, and the lines between their elements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import gcd, lcm

from ethosgen.values.handover import ROOM

HOST = -1
"""The host, which sends the network's inputs and receives its outputs, as an end of an edge."""


@dataclass(frozen=True)
class StageEdge:
    """A hand-over for each sample: `sender` and `receiver` are stages, or the host.

    `tensors` are the indices in the whole network, in the order of the frame, of `bytes` in all.
    """

    sender: int
    receiver: int
    tensors: tuple[int, ...]
    bytes: int


@dataclass(frozen=True)
class WiredLine:
    """A line between two elements, or an element and the host, for frames of an edge.

    The receiver has room for `room` frames.
    """

    edge: int
    sender: int
    receiver: int
    room: int


@dataclass(frozen=True)
class Wiring:
    """Stages with `replicas` elements each, which take samples in turn, and their hand-overs.

    The stages are in order: each sends only to later ones. Elements are numbered by stage, the
    replicas of a stage in sequence.
    """

    replicas: tuple[int, ...]
    edges: tuple[StageEdge, ...]
    is_shared: bool = False
    """Whether frames are in shared memory, where several receivers can read the same one."""

    @cached_property
    def elements(self) -> tuple[tuple[int, int], ...]:
        """The stage of each element, and its number among the stage's replicas."""
        return tuple((k, i) for k, count in enumerate(self.replicas) for i in range(count))

    @cached_property
    def lines(self) -> tuple[WiredLine, ...]:
        """All lines, by edge; replicas have one to each with which they share samples."""
        return tuple(
            WiredLine(
                number,
                self.element(edge.sender, a),
                self.element(edge.receiver, b),
                self.room(number),
            )
            for number, edge in enumerate(self.edges)
            for a in range(self.count(edge.sender))
            for b in range(self.count(edge.receiver))
            if (a - b) % gcd(self.count(edge.sender), self.count(edge.receiver)) == 0
        )

    def count(self, stage: int) -> int:
        """Return the number of a stage's elements; the host is one."""
        return 1 if stage == HOST else self.replicas[stage]

    def element(self, stage: int, sample: int) -> int:
        """Return the element of a stage that takes a sample, or the host."""
        if stage == HOST:
            return HOST
        return sum(self.replicas[:stage]) + sample % self.replicas[stage]

    def before(self, element: int) -> tuple[int, ...]:
        """Return the lines on which an element receives, by number."""
        return tuple(n for n, line in enumerate(self.lines) if line.receiver == element)

    def behind(self, element: int) -> tuple[int, ...]:
        """Return the lines on which an element sends, by number."""
        return tuple(n for n, line in enumerate(self.lines) if line.sender == element)

    def edges_before(self, stage: int) -> tuple[int, ...]:
        """Return the hand-overs that a stage receives, by number."""
        return tuple(n for n, edge in enumerate(self.edges) if edge.receiver == stage)

    def edges_behind(self, stage: int) -> tuple[int, ...]:
        """Return the hand-overs that a stage sends, by number."""
        return tuple(n for n, edge in enumerate(self.edges) if edge.sender == stage)

    def line_of(self, edge: int, sample: int) -> int:
        """Return the line on which a sample's frame of an edge travels."""
        sender = self.element(self.edges[edge].sender, sample)
        receiver = self.element(self.edges[edge].receiver, sample)
        return self._numbers[edge, sender, receiver]

    def period(self, edge: int) -> int:
        """Return the number of lines of an edge: its frames take them in turn."""
        ends = self.edges[edge]
        return lcm(self.count(ends.sender), self.count(ends.receiver))

    def room(self, edge: int) -> int:
        """Return the frames for which the receivers of an edge have room, on each line."""
        return self._rooms[edge]

    def samples_of(self, element: int, count: int) -> range:
        """Return those of the first `count` samples that an element runs."""
        stage, replica = self.elements[element]
        return range(replica, count, self.replicas[stage])

    def frames(self, line: int, element: int, count: int) -> int:
        """Return the frames on a line for the first `count` samples of an element at its end."""
        edge = self.lines[line].edge
        samples = self.samples_of(element, count * self.replicas[self.elements[element][0]])
        return sum(self.line_of(edge, sample) == line for sample in samples)

    def turns(self, element: int) -> range:
        """Return an element's first samples, after which it uses the same lines again."""
        stage, _ = self.elements[element]
        edges = (*self.edges_before(stage), *self.edges_behind(stage))
        return self.samples_of(element, lcm(*(self.period(edge) for edge in edges)))

    @cached_property
    def _numbers(self) -> dict[tuple[int, int, int], int]:
        return {(line.edge, line.sender, line.receiver): n for n, line in enumerate(self.lines)}

    @cached_property
    def _rooms(self) -> tuple[int, ...]:
        rooms = [self._room(n, edge) for n, edge in enumerate(self.edges)]
        return tuple(
            max(room for room, other in zip(rooms, self._alike, strict=True) if other == first)
            for first in self._alike
        )

    def first_alike(self, edge: int) -> int:
        """Return the first hand-over whose frames are the same as those of one, or this one.

        In shared memory an element then writes them once.
        """
        own = self.edges[edge]
        if not self.is_shared or own.sender == HOST:
            return edge
        return next(
            number
            for number, other in enumerate(self.edges)
            if (other.sender, other.tensors) == (own.sender, own.tensors)
            and self.count(other.receiver) == self.count(own.receiver)
        )

    def line_alike(self, number: int) -> int:
        """Return the first line that carries the same frames as one, or this one."""
        line = self.lines[number]
        first = self.first_alike(line.edge)
        own, others = self._of_edge(line.edge), self._of_edge(first)
        return others[own.index(number)]

    def _of_edge(self, edge: int) -> list[int]:
        return [number for number, line in enumerate(self.lines) if line.edge == edge]

    @cached_property
    def _alike(self) -> tuple[int, ...]:
        return tuple(self.first_alike(edge) for edge in range(len(self.edges)))

    def _room(self, number: int, edge: StageEdge) -> int:
        """Return an edge's room.

        While a sample is on a longer way between the same stages, those after it must find room.
        """
        if HOST in (edge.sender, edge.receiver):
            return ROOM
        held = self._between(edge.sender)[edge.receiver] + self.replicas[edge.receiver]
        return max(ROOM, -(-held // self.period(number)) + ROOM - 1)

    def _between(self, start: int) -> Sequence[int]:
        """Return the most elements on a way from a stage to each, without both ends."""
        most = [-1] * len(self.replicas)
        most[start] = 0
        for stage in range(start + 1, len(self.replicas)):
            for number in self.edges_before(stage):
                before = self.edges[number].sender
                if before == start:
                    most[stage] = max(most[stage], 0)
                elif before != HOST and most[before] >= 0:
                    most[stage] = max(most[stage], most[before] + self.replicas[before])
        return most


def line_names(wiring: Wiring, element: int, names: Sequence[str]) -> dict[int, str]:
    """Return a name for each of an element's lines, by number: before, behind.

    If there are several on a side, a name also has the other end's, as in before.stage_0.
    """
    named = {}
    for side, lines in (("before", wiring.before(element)), ("behind", wiring.behind(element))):
        for number in lines:
            line = wiring.lines[number]
            end = line.sender if side == "before" else line.receiver
            other = "host" if end == HOST else names[end]
            named[number] = side if len(lines) == 1 else f"{side}.{other}"
    return named


Ways = frozenset[tuple[int, int]]
"""Pairs of stages, or the host: the first can send to the second."""


def chain_ways(stages: int) -> Ways:
    """Return the ways of a linear pipeline: from each stage to the next, the host at both ends."""
    return frozenset(pairwise((HOST, *range(stages), HOST)))


def graph_ways(stages: int) -> Ways:
    """Return the ways of a graph: from each stage to each later one, the host at all of them."""
    return host_ways(stages) | {(a, b) for b in range(stages) for a in range(b)}


def host_ways(stages: int) -> Ways:
    """Return the ways between the host and each stage."""
    return frozenset((a, b) for k in range(stages) for a, b in ((HOST, k), (k, HOST)))
