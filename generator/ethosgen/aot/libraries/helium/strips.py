"""The strips of a convolution: copies of some rows of its input, column by column.

In a strip each window is contiguous, so a row of windows is a matrix whose rows overlap (struct
ethosgen_convolution). If windows are contiguous in the input, there is no strip.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ethosgen.aot.libraries.framework.calls import is_point
from ethosgen.aot.libraries.helium.cost import multiplied
from ethosgen.aot.libraries.helium.lines import flat_axes
from ethosgen.aot.libraries.helium.order import MATRIX_DEPTH
from ethosgen.aot.loops.window import Axis
from ethosgen.values.multiples import pieces

Products = Callable[[int, int, int], float]
"""Estimates rows times weights by rows, bytes of a row, and channels."""
ROOM = 4096
"""Bytes above which a strip is cut."""


@dataclass(frozen=True)
class Strips:
    """The strips of a layer: the axis along them, the other axis, the bytes of a pixel.

    `is_turned`: the strips are columns of the picture, because `along` is the height. If the layer
    is a group of channels, the input's pixels have `others`: bytes that it does not read.
    """

    along: Axis
    across: Axis
    depth: int
    channels: int
    is_turned: bool
    products: Products = multiplied
    others: int = 0

    @property
    def height(self) -> int:
        """The rows of a strip."""
        return self.across.taps

    @property
    def column(self) -> int:
        """The bytes of a column of the strip."""
        return self.height * self.depth

    @property
    def window_step(self) -> int:
        """The bytes from a window to the next one of its phase."""
        pixel = self.depth + self.others
        return self.along.phase_stride * (pixel if self.is_in_place else self.column)

    @property
    def window(self) -> int:
        """The bytes of a window."""
        return self.along.taps * self.column

    @property
    def vectors(self) -> int:
        """The vectors of 16 bytes that the kernel reads of a window."""
        return pieces(self.window, MATRIX_DEPTH)

    @property
    def is_in_place(self) -> bool:
        """Whether each window is contiguous in the input, whose rows are the strips."""
        is_inside = self.along.is_inside and self.across.is_inside
        is_adjacent = self.along.dilation == 1 and (not self.is_turned or self.across.source == 1)
        is_piece = self.others == 0 or self.along.taps == 1
        return self.across.taps == 1 and is_inside and is_adjacent and is_piece

    @property
    def pixels(self) -> int:
        """The outputs of a row that are computed from the same strip."""
        row = pieces(self.along.target, self.along.phases)
        if self.is_in_place:
            return row
        most = max(ROOM - self.vectors * MATRIX_DEPTH, 0) // self.window_step + 1
        return pieces(row, pieces(row, most))

    @property
    def pieces(self) -> int:
        """The pieces of a row: its phases, each cut into strips of limited length."""
        return self.along.phases * pieces(self.along.target, self.along.phases * self.pixels)

    @property
    def columns(self) -> int:
        """The columns of a strip."""
        return (self.pixels - 1) * self.window_step // self.column + self.along.taps

    @property
    def bytes(self) -> int:
        """The bytes of a strip, including those read after the last window, or of the input."""
        if self.is_in_place:
            pixels = self.along.source * self.across.source
            return pixels * (self.depth + self.others) - self.others
        return (self.pixels - 1) * self.window_step + self.vectors * MATRIX_DEPTH

    @property
    def outputs(self) -> int:
        """The outputs of a picture."""
        return self.channels * self.along.target * self.across.target

    @property
    def cycles_in_c(self) -> float:
        """The estimate of a picture's instructions without Helium."""
        copied = 0.0 if self.is_in_place else self.column * self.columns
        filled = 8.0 * self.pieces * self.across.target * copied
        return filled + self.outputs * (50.0 + 10.0 * self.window)

    @property
    def cycles(self) -> float:
        """The estimate of a picture's instructions with Helium."""
        slices = pieces(self.depth, MATRIX_DEPTH)
        pixel = 5.0 if slices == 1 else 5.0 + 3.0 * slices
        copied = 60 + self.height * (40 + pixel * self.columns)
        filled = 0.0 if self.is_in_place else copied
        products = self.products(self.pixels, self.window, self.channels)
        return self.pieces * (60 + self.across.target * (60 + products + filled))


def cheapest_strips(
    vertical: Axis,
    horizontal: Axis,
    depth: int,
    channels: int,
    *,
    is_adjacent: bool = True,
    products: Products = multiplied,
    others: int = 0,
) -> Strips:
    """Return the strips with the fewest instructions; among equals, the smallest.

    `is_adjacent` means that the rows of outputs follow each other in memory.
    """
    choices = (
        replace(strips, others=others)
        for strips in _strips(vertical, horizontal, depth, channels, is_adjacent, products)
    )
    return min(choices, key=lambda strips: (strips.cycles, strips.bytes))


def _strips(
    vertical: Axis,
    horizontal: Axis,
    depth: int,
    channels: int,
    is_adjacent: bool,
    products: Products,
) -> Iterator[Strips]:
    yield Strips(horizontal, vertical, depth, channels, False, products)
    yield Strips(vertical, horizontal, depth, channels, True, products)
    flat = flat_axes(vertical, horizontal) or _pixels(vertical, horizontal) if is_adjacent else None
    if flat is not None:
        yield Strips(*flat, depth, channels, False, products)


def _pixels(vertical: Axis, horizontal: Axis) -> tuple[Axis, Axis] | None:
    """Return the axes of a picture as one row, if each pixel is a window, else None."""
    if not is_point(vertical, horizontal):
        return None
    pixels = vertical.source * horizontal.source
    return Axis(1, 1, 1, 0, pixels, pixels), Axis(1, 1, 1, 0, 1, 1)
