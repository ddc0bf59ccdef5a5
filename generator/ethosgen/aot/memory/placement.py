"""The addresses of blocks: the smallest size that a bounded search finds, and a lower bound.

Several orders of first fit come first, then changes of the best one, then an exact search from the
lower bound up. All are bounded by counts, never by time, so the same blocks have the same addresses
everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from ethosgen.aot.memory.block import Block, Trail
from ethosgen.aot.memory.puzzle import Puzzle
from ethosgen.aot.memory.search import OutOfNodesError, Search

EFFORT = 2_000_000
"""The effort of the exact search from the bound up, and again from above: about half a second."""
CHANGES = 400
"""The number of changes of an order that are tried."""
MOST_PIECES = 200
"""The most pieces that the exact search takes."""
KEPT = 64
"""The number of placements that are kept: a network is planned again for each way to fuse it."""

Offsets = dict[int, int]


@dataclass(frozen=True)
class PlacedBlocks:
    """Blocks with all offsets set, the bytes that they need, and those that any placement needs."""

    blocks: tuple[Block, ...]
    bytes: int
    bound_bytes: int


@lru_cache(maxsize=KEPT)
def place(blocks: tuple[Block, ...], trails: tuple[Trail, ...] = ()) -> PlacedBlocks:
    """Return the blocks with an offset for each that has none yet."""
    puzzle = Puzzle(blocks, trails)
    offsets, bound = _Solver(puzzle).solve()
    free = [index for index, block in enumerate(blocks) if block.is_homeless]
    placed = list(blocks)
    for piece, index in enumerate(free):
        placed[index] = replace(blocks[index], offset=offsets[piece])
    return PlacedBlocks(tuple(placed), puzzle.height(offsets), bound)


class _Solver:
    """Improves a solution until it is at the bound or the counts are used up."""

    def __init__(self, puzzle: Puzzle) -> None:
        self._puzzle = puzzle
        self._bound = puzzle.bound
        self._best: Offsets = {}
        self._order: list[int] = []
        self._height = 0

    def solve(self) -> tuple[Offsets, int]:
        """Return offsets, and the bound."""
        pieces = self._puzzle.pieces
        numbers = range(len(pieces))
        self._take(sorted(numbers, key=lambda i: (-pieces[i].bytes, i)), is_first=True)
        self._take(sorted(numbers, key=lambda i: (-pieces[i].bytes * len(pieces[i].steps), i)))
        self._take(sorted(numbers, key=lambda i: (-len(pieces[i].steps), -pieces[i].bytes, i)))
        crowding = self._crowding()
        self._take(sorted(numbers, key=lambda i: (-crowding[i], -pieces[i].bytes, i)))
        easy = self._puzzle.easy_pieces(self._bound)
        if self._height > self._bound:
            self._change(len(pieces) - len(easy))
        if self._height > self._bound and len(pieces) - len(easy) <= MOST_PIECES:
            self._search(easy)
        return self._best, self._bound

    def _crowding(self) -> dict[int, int]:
        """Return the most bytes that are live with each piece."""
        pieces = self._puzzle.pieces
        most = dict.fromkeys(range(len(pieces)), 0)
        for crowd in self._puzzle.crowds:
            total = sum(pieces[i].padded for i in crowd)
            most.update({i: max(most[i], total) for i in crowd})
        return most

    def _take(self, order: Sequence[int], is_first: bool = False) -> bool:
        """Place pieces in an order; keep the solution if it is better, return whether it was."""
        if self._height == self._bound and not is_first:
            return False
        return self._keep(self._puzzle.first_fit(order), order, is_first)

    def _keep(self, offsets: Offsets, order: Sequence[int], is_first: bool = False) -> bool:
        height = self._puzzle.height(offsets)
        if height >= self._height and not is_first:
            return False
        self._best, self._height, self._order = offsets, height, list(order)
        return True

    def _change(self, hard: int) -> None:
        """Move pieces at the top forward in the order, and swap others, while that may help."""
        random = Random(0)
        tries = CHANGES * 20 // max(20, hard)
        for number in range(tries):
            order = list(self._order)
            top = [i for i, at in self._best.items() if self._end(i, at) == self._height]
            if number % 2 == 0 and top:
                moved = top[number // 2 % len(top)]
                place = order.index(moved)
                order.insert(random.randrange(place + 1), order.pop(place))
            else:
                first, second = random.randrange(len(order)), random.randrange(len(order))
                order[first], order[second] = order[second], order[first]
            if self._take(order) and self._height == self._bound:
                return

    def _end(self, index: int, offset: int) -> int:
        return offset + self._puzzle.pieces[index].bytes

    def _search(self, easy: Sequence[int]) -> None:
        """Search for solutions at the bound, raise it if there is none, then search from above."""
        hard = [i for i in range(len(self._puzzle.pieces)) if i not in set(easy)]
        search = Search(self._puzzle, hard, EFFORT)
        try:
            while self._height > self._bound:
                offsets = search.below(self._bound)
                if offsets is not None:
                    self._keep(self._puzzle.first_fit(easy, offsets), self._order)
                    return
                self._bound = min(search.next_limit or self._height, self._height)
        except OutOfNodesError:
            self._descend(Search(self._puzzle, hard, EFFORT), easy)

    def _descend(self, search: Search, easy: Sequence[int]) -> None:
        try:
            while offsets := search.below(self._height - 1):
                self._keep(self._puzzle.first_fit(easy, offsets), self._order)
        except OutOfNodesError:
            return
        self._bound = self._height
