"""Boxes: regions of tensors, with a range of indices on each axis."""

import math
from collections.abc import Sequence
from itertools import pairwise

Range = tuple[int, int]
"""The first index, and the one after the last."""
Box = tuple[Range, ...]
"""A range on each axis."""


def whole(shape: Sequence[int]) -> Box:
    """Return the box of a whole tensor."""
    return tuple((0, size) for size in shape)


def sizes(box: Box) -> tuple[int, ...]:
    """Return the shape of a box."""
    return tuple(end - start for start, end in box)


def volume(box: Box) -> int:
    """Return the number of elements in a box."""
    return math.prod(sizes(box))


def meet(box: Box, other: Box) -> Box | None:
    """Return the intersection of two boxes, None if it is empty."""
    shared = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, other, strict=True))
    return shared if all(start < end for start, end in shared) else None


def hull(box: Box, other: Box) -> Box:
    """Return the smallest box around two."""
    return tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(box, other, strict=True))


def relative(box: Box, to: Box) -> Box:
    """Return a box inside another one, counted from the latter's first element."""
    return tuple((a - c, b - c) for (a, b), (c, _) in zip(box, to, strict=True))


def spread(size: int, count: int) -> list[Range]:
    """Return `count` ranges that cover `size` indices as evenly as possible, the longest first."""
    each, more = divmod(size, count)
    starts = [number * each + min(number, more) for number in range(count + 1)]
    return list(pairwise(starts))


def interval(box: Box, shape: Sequence[int]) -> Range | None:
    """Return the range of a box in the order of memory, None if it is not one."""
    lengths = sizes(box)
    first = next((i for i, length in enumerate(lengths) if length > 1), len(lengths))
    if any(
        length != size
        for length, size in zip(lengths[first + 1 :], shape[first + 1 :], strict=True)
    ):
        return None
    start = 0
    for (begin, _), size in zip(box, shape, strict=True):
        start = start * size + begin
    return start, start + volume(box)


def unfolded(span: Range, shape: Sequence[int]) -> Box | None:
    """Return the box that is a range in the order of memory, None if there is none."""
    if not shape:
        return ()
    inner = math.prod(shape[1:])
    start, end = span
    if start % inner == 0 and end % inner == 0:
        return ((start // inner, end // inner), *whole(shape[1:]))
    row = start // inner
    if (end - 1) // inner != row:
        return None
    rest = unfolded((start - row * inner, end - row * inner), shape[1:])
    return None if rest is None else ((row, row + 1), *rest)
