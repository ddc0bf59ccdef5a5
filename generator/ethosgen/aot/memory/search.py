"""An exact search for addresses below a limit, after MiniMalloc (Moffitt, ASPLOS 2023).

Pieces are placed from the lowest address up, each at the lowest address that those below it leave,
so each solution that cannot be pushed down further is reached once. A branch ends where the pieces
left cannot fit below the limit, or where one of them would fit wholly below the next.
"""

from collections.abc import Sequence

from ethosgen.aot.memory.puzzle import Puzzle


class OutOfNodesError(Exception):
    """The search reached its limit of nodes."""


class Search:
    """Searches for the addresses of some pieces of a puzzle, with a bounded effort.

    A node's effort is proportional to the pieces that it examines.
    """

    def __init__(self, puzzle: Puzzle, pieces: Sequence[int], effort: int) -> None:
        self._pieces = {i: puzzle.pieces[i] for i in pieces}
        self._ends = {i: piece.bytes for i, piece in self._pieces.items()}
        self._near = {
            i: tuple((j, distance) for j, distance, _ in puzzle.spans[i] if j in self._pieces)
            for i in self._pieces
        }
        crowds = {tuple(i for i in crowd if i in self._pieces) for crowd in puzzle.crowds}
        self._crowds = [crowd for crowd in sorted(crowds) if len(crowd) > 1]
        self._padded = {i: piece.padded for i, piece in self._pieces.items()}
        self._shared = {
            crowd: [(pair, most) for pair, most in puzzle.shared.items() if {*pair} <= {*crowd}]
            for crowd in self._crowds
        }
        self._slack = {
            crowd: max(self._padded[i] - self._ends[i] for i in crowd) for crowd in self._crowds
        }
        self._nodes = effort // (len(pieces) + sum(map(len, self._crowds)) or 1)
        self._twins = self._find_twins()
        self._rank = self._find_ranks()
        self._limit = 0
        self._placed: dict[int, int] = {}
        self.next_limit: int | None = None
        """The least limit that the last search leaves possible, if it found nothing."""

    def below(self, limit: int) -> dict[int, int] | None:
        """Return offsets with all ends at most at a limit, None if there are none.

        OutOfNodesError if the limit of nodes is reached first.
        """
        self._limit, self.next_limit, self._placed = limit, None, {}
        lowest = {i: piece.lowest(0) for i, piece in self._pieces.items()}
        return dict(self._placed) if self._descend(lowest, (0, -1)) else None

    def _descend(self, lowest: dict[int, int], last: tuple[int, int]) -> bool:
        """Place the pieces with the lowest offsets in `lowest`, but not below the last piece's."""
        if not lowest:
            return True
        if self._nodes <= 0:
            raise OutOfNodesError
        self._nodes -= 1
        needed = self._needed(lowest)
        if needed > self._limit:
            self.next_limit = min(needed, self.next_limit or needed)
            return False
        for index in self._candidates(lowest, last):
            offset = lowest[index]
            self._placed[index] = offset
            if self._descend(self._raised(lowest, index), (offset, index)):
                return True
            del self._placed[index]
        return False

    def _needed(self, lowest: dict[int, int]) -> int:
        """Return a lower bound of the bytes of any completion."""
        needed = max(offset + self._ends[i] for i, offset in lowest.items())
        for crowd in self._crowds:
            left = [i for i in crowd if i in lowest]
            if left:
                floor = min([lowest[i] for i in left])
                whole = sum([self._padded[i] for i in left])
                for (lower, upper), most in self._shared[crowd]:
                    whole -= most if lower in lowest and upper in lowest else 0
                needed = max(needed, floor + whole - self._slack[crowd])
        return needed

    def _candidates(self, lowest: dict[int, int], last: tuple[int, int]) -> list[int]:
        """Return the pieces that may come next, the most promising first."""
        least = min(offset + self._ends[i] for i, offset in lowest.items())
        able = [
            i
            for i, offset in lowest.items()
            if offset < least and (offset, i) > last and self._twins.get(i) not in lowest
        ]
        return sorted(able, key=lambda i: (lowest[i], self._rank[i]))

    def _raised(self, lowest: dict[int, int], index: int) -> dict[int, int]:
        """Return the lowest offsets after a piece is placed."""
        raised = dict(lowest)
        offset = raised.pop(index)
        for other, distance in self._near[index]:
            if raised.get(other, offset + distance) < offset + distance:
                raised[other] = self._pieces[other].lowest(offset + distance)
        return raised

    def _find_twins(self) -> dict[int, int]:
        """Return, for each piece equal to an earlier one, that one; it is placed first."""
        paired = {i for pairs in self._shared.values() for pair, _ in pairs for i in pair}
        seen: dict[tuple[object, ...], int] = {}
        twins = {}
        for i, piece in self._pieces.items():
            if i in paired:
                continue
            key = (piece.bytes, piece.alignment, piece.steps)
            if key in seen:
                twins[i] = seen[key]
            seen[key] = i
        return twins

    def _find_ranks(self) -> dict[int, tuple[int, int, int]]:
        """Return the order to try: the pieces live with most bytes first, then the largest."""
        most = dict.fromkeys(self._pieces, 0)
        for crowd in self._crowds:
            whole = sum(self._padded[i] for i in crowd)
            most.update({i: max(most[i], whole) for i in crowd})
        return {i: (-most[i], -self._ends[i], i) for i in self._pieces}
