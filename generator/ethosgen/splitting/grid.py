"""How the results of operators are cut: the number of parts along each axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ethosgen.splitting.boxes import Box, Range, spread, whole

_AXES = {
    1: (None, None, 0),
    2: (0, None, 1),
    3: (1, None, 2),
    4: (1, 2, 3),
}
"""The axes of rows, columns and channels by rank: channels come last, rows after the batch."""


@dataclass(frozen=True)
class Grid:
    """The number of parts along rows, columns and channels.

    `depth` is the number of parts along the input channels of a layer, whose sums are added.
    """

    rows: int = 1
    columns: int = 1
    channels: int = 1
    depth: int = 1

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of parts along the axes of results."""
        return self.rows, self.columns, self.channels

    @property
    def parts(self) -> int:
        """The number of parts of the results."""
        return self.rows * self.columns * self.channels

    def boxes(self, shape: Sequence[int]) -> Iterator[Box | None]:
        """Yield the box of each part in a tensor of this shape, None where it has nothing."""
        axes = _AXES.get(len(shape), (None, None, None))
        ranges = [_ranges(shape, axis, n) for axis, n in zip(axes, self.counts, strict=True)]
        for spans in product(*ranges):
            box = list(whole(shape))
            for axis, span in zip(axes, spans, strict=True):
                if axis is not None:
                    box[axis] = span
            yield tuple(box) if all(start < end for start, end in (*box, *spans)) else None

    @staticmethod
    def limits(shape: Sequence[int]) -> tuple[int, int, int]:
        """Return the most parts along each axis of a result of this shape."""
        axes = _AXES.get(len(shape), (None, None, None))
        rows, columns, channels = (1 if axis is None else shape[axis] for axis in axes)
        return rows, columns, channels

    def largest(self, shape: Sequence[int]) -> Box:
        """Return the box of a part that no other one exceeds, with halos on both sides if any has.

        It need not be the box of a part.
        """
        box = list(whole(shape))
        axes = _AXES.get(len(shape), (None, None, None))
        for axis, count in zip(axes, self.counts, strict=True):
            if axis is not None and count > 1:
                each = -(-shape[axis] // count)
                first = each if count > 2 and 2 * each <= shape[axis] else 0
                box[axis] = first, first + each
        return tuple(box)


def _ranges(shape: Sequence[int], axis: int | None, count: int) -> list[Range]:
    if axis is None:  # the first part has all
        return [(0, 1), *[(0, 0)] * (count - 1)]
    return spread(shape[axis], count)
