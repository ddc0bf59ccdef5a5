"""The place of a convolution's windows: in the input itself, or in strips copied from it."""

from dataclasses import dataclass

from ethosgen.aot.libraries.floats import cost
from ethosgen.aot.libraries.floats.cost import Figures
from ethosgen.aot.loops.window import Axis

ROWS = 4
"""Rows that the kernel multiplies at a time."""
ROOM, MOST_ROOM = 2048, 4096
"""The most floats of a strip, and the most if a strip would have fewer outputs than a tile."""


@dataclass(frozen=True)
class ConvolutionSizes:
    """A convolution: its axes, and the channels of its input, of a window and of its output."""

    vertical: Axis
    horizontal: Axis
    source_channels: int
    depth: int
    channels: int

    @property
    def groups(self) -> int:
        """The number of groups."""
        return self.source_channels // self.depth

    @property
    def products(self) -> int:
        """The products of an output."""
        return self.vertical.taps * self.horizontal.taps * self.depth

    @property
    def group_channels(self) -> int:
        """The channels of the output in a group."""
        return self.channels // self.groups


@dataclass(frozen=True)
class Rows:
    """Windows that are rows in the input, in pieces; steps are in floats."""

    pieces: int
    count: int
    piece_step: int
    target_piece_step: int
    step: int
    target_step: int

    def cycles(self, by: Figures, sizes: ConvolutionSizes) -> float:
        """Return the estimate of a picture's instructions."""
        rows = cost.rows(by, self.count, sizes.products, sizes.group_channels)
        return sizes.groups * self.pieces * rows


def rows_in_place(sizes: ConvolutionSizes) -> Rows | None:
    """Return the windows as rows in the input, None if they are not contiguous there."""
    down, right = sizes.vertical, sizes.horizontal
    is_whole = sizes.depth == sizes.source_channels or right.taps * down.taps == 1
    if not (down.is_inside and right.is_inside and is_whole):
        return None
    lines = down.stride * right.source * sizes.source_channels
    if down.taps == 1 and (right.taps == 1 or right.dilation == 1):
        return _pixels(sizes, lines)
    if right.taps == right.source and down.dilation == 1:
        return Rows(1, down.target, 0, 0, lines, sizes.channels)
    return None


def _pixels(sizes: ConvolutionSizes, lines: int) -> Rows:
    """Return the windows of one line, `lines` floats apart from those of the next."""
    down, right, outputs = sizes.vertical, sizes.horizontal, sizes.channels
    step = right.stride * sizes.source_channels
    if lines == right.target * step or down.target == 1:
        return Rows(1, down.target * right.target, 0, 0, step, outputs)
    if right.target == 1:
        return Rows(1, down.target, 0, 0, lines, outputs)
    return Rows(down.target, right.target, lines, right.target * outputs, step, outputs)


@dataclass(frozen=True)
class FloatStrips:
    """The strips of a convolution: each has a column of windows."""

    sizes: ConvolutionSizes

    @property
    def is_shared(self) -> bool:
        """Whether windows share rows of the strip."""
        down = self.sizes.vertical
        return down.dilation == 1 and down.stride < down.taps

    @property
    def line(self) -> int:
        """The floats of a row."""
        return self.sizes.horizontal.taps * self.sizes.depth

    @property
    def step(self) -> int:
        """The rows from a window to the next."""
        down = self.sizes.vertical
        return down.stride if self.is_shared else down.taps

    @property
    def outputs(self) -> int:
        """The most outputs of a strip; whole tiles unless these are all outputs."""
        most = self._fitting(ROOM)
        if most < ROWS:
            most = max(min(self._fitting(MOST_ROOM), ROWS), 1)
        return min(self.sizes.vertical.target, most - most % ROWS if most > ROWS else most)

    def _fitting(self, room: int) -> int:
        left = room // self.line - self.sizes.vertical.taps
        return max(left // self.step + 1, 0)

    @property
    def floats(self) -> int:
        """The floats of a strip."""
        return self._lines(self.outputs) * self.line

    def _lines(self, outputs: int) -> int:
        return (outputs - 1) * self.step + self.sizes.vertical.taps

    def cycles(self, by: Figures, sizes: ConvolutionSizes) -> float:
        """Return the estimate of a picture's instructions."""
        whole, rest = divmod(sizes.vertical.target, self.outputs)
        counts = [self.outputs] * whole + [rest] * bool(rest)
        lines = sum(map(self._lines, counts))
        matrix = sizes.products, sizes.group_channels
        column = cost.strips(by, counts, lines, self.line, matrix)
        return sizes.groups * sizes.horizontal.target * column


def cheapest(sizes: ConvolutionSizes) -> Rows | FloatStrips:
    """Return the cheapest way to read the windows of a convolution: in place or by strips."""
    return rows_in_place(sizes) or FloatStrips(sizes)
