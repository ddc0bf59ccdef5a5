"""Blocks as a puzzle: possible offsets, distances, and a lower bound on the bytes."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ethosgen.aot.graph.storage import ALIGNMENT
from ethosgen.aot.memory.block import Block, Trail
from ethosgen.values.multiples import rounded_up

Span = tuple[int, int]
"""The first byte of some, and the byte after the last."""


@dataclass(frozen=True)
class FreeBlock:
    """A block without an address. `neighbours` are the pieces that are live in one of its steps.

    `walls` are the bytes of fixed blocks that are live in one of its steps, in order, joined.
    """

    bytes: int
    alignment: int
    steps: frozenset[int]
    neighbours: tuple[int, ...]
    walls: tuple[Span, ...]

    @cached_property
    def padded(self) -> int:
        """The size, with the bytes that no other piece can use."""
        return rounded_up(self.bytes, ALIGNMENT)

    def lowest(self, floor: int) -> int:
        """Return the lowest offset, from a floor on, at which the piece fits between walls."""
        offset = rounded_up(floor, self.alignment)
        before = bisect_right(self.walls, (offset, 0)) - 1
        for start, end in self.walls[max(before, 0) :]:
            if offset + self.bytes <= start:
                break
            if offset < end:
                offset = rounded_up(end, self.alignment)
        return offset


class Puzzle:
    """The pieces, and bounds on any solution.

    `crowds` are the sets of pieces that are live together; none is a part of another. `spans` has,
    by piece, each neighbour, the bytes from the piece to the neighbour above it, and from the
    neighbour to the piece above. `shared` has, by the ends of a trail, the most bytes that both can
    share.
    """

    def __init__(self, blocks: Sequence[Block], trails: Sequence[Trail] = ()) -> None:
        fixed = [b for b in blocks if b.offset is not None]
        free = [b for b in blocks if b.is_homeless]
        live: dict[int, list[int]] = {}
        for index, block in enumerate(free):
            for step in block.steps:
                live.setdefault(step, []).append(index)
        self.pieces = tuple(
            FreeBlock(
                block.bytes,
                block.alignment,
                block.steps,
                tuple(sorted({i for step in block.steps for i in live[step]} - {index})),
                _joined(_span(b) for b in fixed if not b.steps.isdisjoint(block.steps)),
            )
            for index, block in enumerate(free)
        )
        self.fixed_bytes = max((end for _, end in map(_span, fixed)), default=0)
        self._walls = {step: _joined(_span(b) for b in fixed if step in b.steps) for step in live}
        self._live = live
        self.crowds = _largest(live.values())
        numbers = {b: i for i, b in enumerate(i for i, b in enumerate(blocks) if b.is_homeless)}
        self._distances: dict[tuple[int, int], int] = {}
        for trail in trails:
            lower, upper = (numbers[end] for end in trail.ends)
            self._distances[lower, upper] = trail.distance
        self.spans = [self._spans_of(index) for index in range(len(self.pieces))]
        self.shared = {
            (lower, upper): most
            for (lower, upper), distance in self._distances.items()
            if (most := self._most_shared(lower, upper, distance)) > 0
        }

    def _most_shared(self, lower: int, upper: int, distance: int) -> int:
        behind = self.pieces[lower].padded - distance // ALIGNMENT * ALIGNMENT
        return min(behind, self.pieces[upper].padded)

    def _spans_of(self, index: int) -> tuple[tuple[int, int, int], ...]:
        return tuple(
            (other, self._distance(index, other), self._distance(other, index))
            for other in self.pieces[index].neighbours
        )

    def _distance(self, lower: int, upper: int) -> int:
        size = self.pieces[lower].bytes
        return min(size, self._distances.get((lower, upper), size))

    @cached_property
    def bound(self) -> int:
        """The lower bound of all solutions: the most live bytes, where fixed blocks leave room."""
        return max([self.fixed_bytes, *map(self._bound_in, self._live)])

    def _bound_in(self, step: int) -> int:
        pieces = [self.pieces[i] for i in self._live[step]]
        sizes = [piece.padded for piece in pieces]
        slack = max(piece.padded - piece.bytes for piece in pieces)
        shared = sum(most for pair, most in self.shared.items() if {*pair} <= {*self._live[step]})
        inside, top = 0, 0
        for start, end in self._walls[step]:
            room = rounded_up(start, ALIGNMENT) - top
            inside += room if shared else _most_within(sizes, room)
            top = end // ALIGNMENT * ALIGNMENT
        return top + max(0, sum(sizes) - shared - inside - slack)

    def first_fit(
        self, order: Iterable[int], offsets: Mapping[int, int] | None = None
    ) -> dict[int, int]:
        """Place pieces in an order, each at the lowest free offset, besides those with offsets."""
        placed = dict(offsets or {})
        for index in order:
            piece = self.pieces[index]
            offset = piece.lowest(0)
            near = [
                (at - below, other, at + above)
                for other, below, above in self.spans[index]
                if (at := placed.get(other)) is not None
            ]
            for highest, _, end in sorted(near):
                if offset <= highest:
                    break
                if end > offset:
                    offset = piece.lowest(end)
            placed[index] = offset
        return placed

    def height(self, offsets: Mapping[int, int]) -> int:
        """Return the bytes that a solution needs."""
        ends = (offset + self.pieces[i].bytes for i, offset in offsets.items())
        return max([self.fixed_bytes, *ends])

    def easy_pieces(self, capacity: int) -> list[int]:
        """Return pieces that always fit last, in the order of placing.

        At least one gap between the neighbours of such a piece is large enough for it.
        """
        pieces: list[int] = []
        room = capacity // ALIGNMENT * ALIGNMENT
        gaps = [piece.padded + piece.alignment - 2 * ALIGNMENT for piece in self.pieces]
        most = [self._most_taken(piece, gap) for piece, gap in zip(self.pieces, gaps, strict=True)]
        hard = dict.fromkeys(range(len(self.pieces)))
        while (easy := next((i for i in hard if most[i] < room), None)) is not None:
            pieces.append(easy)
            del hard[easy]
            for other in self.pieces[easy].neighbours:
                most[other] -= self.pieces[easy].padded + gaps[other]
        return pieces[::-1]

    def _most_taken(self, piece: FreeBlock, gap: int) -> int:
        """Return the most bytes below which the neighbours can leave only gaps that are too small.

        `gap` is the largest such gap.
        """
        near = [self.pieces[i].padded for i in piece.neighbours]
        near += [rounded_up(end - start, ALIGNMENT) + ALIGNMENT for start, end in piece.walls]
        return sum(near) + (len(near) + 1) * gap


def _span(block: Block) -> Span:
    start = block.offset or 0
    return start, start + block.bytes


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def _largest(sets: Iterable[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """Return the sets that are not part of another."""
    by_size = sorted({tuple(sorted(some)) for some in sets}, key=lambda some: (-len(some), some))
    kept: list[frozenset[int]] = []
    for some in map(frozenset, by_size):
        if not any(some <= other for other in kept):
            kept.append(some)
    return tuple(tuple(sorted(some)) for some in kept)


def _most_within(sizes: Sequence[int], room: int) -> int:
    """Return the most bytes of some sizes that fit into a space together."""
    if sum(sizes) <= room:
        return sum(sizes)
    sums = {0}
    for size in sizes:
        sums |= {some + size for some in sums if some + size <= room}
    return max(sums)
