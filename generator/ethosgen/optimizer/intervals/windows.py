"""The taps of a layer's window that are inside its input, at each place of its output."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

Taps = tuple[int, ...]

MOST_PLACES = 1024
"""Most kinds of places to tell apart."""


@dataclass(frozen=True)
class WindowAxis:
    """One axis of a window: input and output sizes, taps, stride, dilation and padding."""

    size: int
    out: int
    taps: int
    stride: int
    dilation: int
    is_same: bool

    @property
    def before(self) -> int:
        """The padding before the input (ComputePaddingWithOffset)."""
        if not self.is_same:
            return 0
        reach = (self.taps - 1) * self.dilation + 1
        return max((self.out - 1) * self.stride + reach - self.size, 0) // 2

    def kinds(self) -> frozenset[Taps]:
        """Return the sets of taps that are inside the input somewhere."""
        return frozenset(
            tuple(
                tap
                for tap in range(self.taps)
                if 0 <= at * self.stride - self.before + tap * self.dilation < self.size
            )
            for at in range(self.out)
        )


@dataclass(frozen=True)
class Window:
    """A window over rows and columns."""

    rows: WindowAxis
    columns: WindowAxis

    def places(self) -> Iterator[tuple[Taps, Taps]]:
        """Yield the taps by row and column of each kind of place."""
        return product(sorted(self.rows.kinds()), sorted(self.columns.kinds()))

    @property
    def is_padded(self) -> bool:
        """Whether any place has a tap outside the input."""
        inside = (tuple(range(self.rows.taps)), tuple(range(self.columns.taps)))
        return any(place != inside for place in self.places())


def window_of(
    options: Mapping[str, Any],
    source: tuple[int, ...],
    target: tuple[int, ...],
    taps: tuple[int, int],
) -> Window:
    """Return the window of an operator over (batch, rows, columns, channels)."""
    is_same = options.get("padding", "SAME") == "SAME"
    axes = (
        WindowAxis(
            source[axis],
            target[axis],
            taps[axis - 1],
            int(options.get(f"stride_{side}", 1)),
            max(int(options.get(f"dilation_{side}_factor", 1)), 1),
            is_same,
        )
        for axis, side in ((1, "h"), (2, "w"))
    )
    return Window(*axes)
