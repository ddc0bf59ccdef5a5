"""The lines of a depthwise convolution: a channel of some rows of its input, column by column.

In a line each window is contiguous, and the kernel multiplies it by 16 weights at a time (struct
ethosgen_depthwise). Columns that are higher than the window serve several rows of outputs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ethosgen.aot.libraries.helium.order import MATRIX_CHANNELS, MATRIX_DEPTH, TAP_CHANNELS
from ethosgen.aot.loops.window import Axis
from ethosgen.values.multiples import pieces, rounded_up

COPIED = 8
"""Channels that the kernel copies to their lines at a time, addressed by 16-bit offsets."""
WORD = 4
"""Rows of a column that the kernel copies together, 16 channels at a time."""
MOST_BYTES = 65535 // COPIED
LONGEST = 512
"""Bytes above which a line is cut."""
ROOM = 2048
"""Bytes of lines that are worth fewer, larger blocks of channels."""
FIXED_STEPS = (1, 2, 4, 8)
"""The distances of windows for which the kernel has a loop of its own."""
PAIRED = ("two", "more")
"""The loops that have functions for pairs of rows."""


@dataclass(frozen=True)
class Lines:
    """The lines of a layer: the axis along them, the other axis, and the height of a column.

    `is_turned`: the lines are columns of the picture, because `along` is the height. `is_flat`: the
    picture is one row. `is_folded`: four pixels of a row are copied as if they were a column.
    """

    channels: int
    copies: int
    along: Axis
    across: Axis
    height: int
    is_turned: bool
    is_flat: bool = False
    is_folded: bool = False

    @property
    def window_step(self) -> int:
        """The bytes from a window to the next one of its phase."""
        return self.along.phase_stride * self.height

    @property
    def pixels(self) -> int:
        """The outputs of a row that are computed from the same lines."""
        row = pieces(self.along.target, self.along.phases)
        window = self.height - 1 + max(self.taps, self.vectors * MATRIX_DEPTH)
        most = max(LONGEST - window, 0) // self.window_step + 1
        return pieces(row, pieces(row, most))

    @property
    def pieces(self) -> int:
        """The pieces of a row: its phases, each cut into lines of limited length."""
        return self.along.phases * pieces(self.along.target, self.along.phases * self.pixels)

    @property
    def columns(self) -> int:
        """The columns of a line."""
        return (self.pixels - 1) * self.window_step // self.height + self.along.taps

    @property
    def copied_columns(self) -> int:
        """The columns that the kernel copies."""
        return pieces(self.columns, WORD) if self.is_folded else self.columns

    @property
    def can_be_folded(self) -> bool:
        """Whether the lines are one row inside the input, and so are whole words of its pixels."""
        is_row = self.height == self.across.target == self.across.taps == self.copies == 1
        is_inside = self.along.is_inside and self.across.padding == 0 and self.along.dilation == 1
        is_whole = rounded_up(self.columns, WORD) <= self.along.source
        return is_row and is_inside and is_whole and self.pieces == 1

    @property
    def taps(self) -> int:
        """The bytes of a window, including those between its columns."""
        return self.along.taps * self.height

    @property
    def vectors(self) -> int:
        """The vectors of 16 bytes that the kernel reads of a window."""
        return pieces(self.taps, MATRIX_DEPTH)

    @property
    def shared(self) -> int:
        """The rows of outputs that are computed from the same lines."""
        return (self.height - self.across.taps) // self.across.stride + 1

    @property
    def line_bytes(self) -> int:
        """The bytes of a line, including those that the last window reads beyond its taps."""
        last = (self.pixels - 1) * self.window_step + self.height - 1
        read = max(self.columns * self.height, last + self.vectors * MATRIX_DEPTH)
        unit = 2 if self.is_pairs else self.sharing
        return rounded_up(read, WORD if self.is_words else unit)

    @property
    def sharing(self) -> int:
        """The channels that share a line: 4, if a channel's copies are groups of 4."""
        return 1 if self.copies % MATRIX_CHANNELS else MATRIX_CHANNELS

    @property
    def is_words(self) -> bool:
        """Whether the columns are words, which the kernel writes in one go."""
        return self.is_folded or (self.height == WORD and self.copies == 1)

    @property
    def is_pairs(self) -> bool:
        """Whether the kernel writes pairs of rows, as numbers of 16 bits."""
        return self.copies == 1 and self.height > WORD and self.height % 2 == 0

    @property
    def block(self) -> int:
        """The channels that have lines at a time."""
        unit = MATRIX_DEPTH if self.is_words else COPIED
        most = max(ROOM // self.line_bytes // unit, 1) * unit
        return min(most, rounded_up(self.channels // self.sharing, COPIED)) * self.sharing

    @property
    def room_bytes(self) -> int:
        """The bytes of all lines."""
        return self.block // self.sharing * self.line_bytes

    @property
    def outputs(self) -> int:
        """The outputs of a picture."""
        return self.channels * self.along.target * self.across.target

    @property
    def rows(self) -> int:
        """The rows of the input that are copied to lines, some of them several times."""
        strips = pieces(self.across.target, self.shared)
        return strips * self.across.taps + (self.across.target - strips) * self.across.stride

    @property
    def is_by_row(self) -> bool:
        """Whether the kernel computes the rows of a block of channels from first to last."""
        is_row = not self.is_turned and not self.is_flat and self.pieces == 1
        return is_row and not self.is_in_place

    @property
    def form(self) -> str:
        """The part of the kernel's name for its assumptions."""
        if self.is_in_place:
            return "in_place"
        return self._named(self._loop)

    @property
    def form_for_any_shift(self) -> str:
        """The same if some channels have unusual shifts (`scales.py`)."""
        return self.form if self.is_in_place else self._named("any")

    def _named(self, loop: str) -> str:
        if self.is_words:
            return f"words_{loop}"
        if self.sharing > 1:
            return f"{loop}_shared"
        if self.copies > 1:
            return f"{loop}_copies"
        return f"{loop}_pairs" if self.is_pairs and loop in PAIRED else loop

    @property
    def _loop(self) -> str:
        if self.channels < MATRIX_CHANNELS:
            return "any"
        if self.vectors > 1:
            return "two" if self.vectors == 2 else "more"
        return f"by_{self.window_step}" if self.window_step in FIXED_STEPS else "short"

    @property
    def cycles_in_c(self) -> float:
        """The estimate of a picture's instructions without Helium."""
        copied = self.pieces * self.channels * self.rows * self.columns * (not self.is_in_place)
        return 13.1 * copied + self.outputs * (71.6 + 7.95 * self.taps + 2.25 * self.vectors)

    @property
    def is_in_place(self) -> bool:
        """Whether the kernel reads the input itself: it is cheaper for few small windows."""
        is_inside = self.along.is_inside and self.across.is_inside
        is_row = self.copies == self.across.taps == 1
        return is_inside and is_row and self._in_place < self._by_lines

    @property
    def cycles(self) -> float:
        """The estimate of a picture's cycles with Helium."""
        return self._in_place if self.is_in_place else self._by_lines

    @property
    def _in_place(self) -> float:
        groups = pieces(self.channels, TAP_CHANNELS)
        return 120 + self.along.target * self.across.target * groups * (64 + 8.0 * self.taps)

    @property
    def _by_lines(self) -> float:
        groups = pieces(self.channels, MATRIX_CHANNELS)
        blocks = pieces(self.channels, self.block)
        strips = pieces(self.across.target, self.shared)
        run = groups * (90.0 * strips + 22 * self.across.target)
        run += self.across.target * self.pixels * groups * self._window()
        return self.pieces * (150 * blocks + 100 * blocks * strips + self._filled(strips) + run)

    def _filled(self, strips: int) -> float:
        """Return the cycles of filling a piece's lines."""
        if self.is_words:
            return strips * pieces(self.channels, MATRIX_DEPTH) * (90 + 40.5 * self.copied_columns)
        copied = self.rows * self._row()
        return pieces(self.channels // self.sharing, COPIED) * (20 * strips + copied)

    def _row(self) -> float:
        """Return the cycles of copying a row, alone or, as far as possible, in pairs."""
        single = 40 + 10.5 * self.columns
        if not self.is_pairs or self._loop not in PAIRED:
            return single
        outputs = min(self.shared, self.across.target)
        pairs, rest = divmod((outputs - 1) * self.across.stride + self.across.taps, 2)
        alone = 45 + 12.0 * self.columns
        return (pairs * (45 + 15.0 * self.columns) + rest * alone) / (2 * pairs + rest)

    def _window(self) -> float:
        """Return the cycles of a window of 4 channels."""
        figures = {"two": 37.0, "more": 28 + 16.0 * self.vectors, "short": 25.0}
        figures["any"] = 50 + 19.0 * self.vectors
        return figures.get(self._loop, 21.0)


def cheapest_lines(vertical: Axis, horizontal: Axis, channels: int, copies: int) -> Lines | None:
    """Return the lines with the fewest cycles, None if all of them are too long."""
    possible = [*_lines(vertical, horizontal, channels, copies)]
    possible += [replace(lines, is_folded=True) for lines in possible if lines.can_be_folded]
    fitting = [lines for lines in possible if lines.line_bytes <= MOST_BYTES]
    return min(fitting, key=lambda lines: lines.cycles, default=None)


def _lines(vertical: Axis, horizontal: Axis, channels: int, copies: int) -> Iterator[Lines]:
    for along, across, is_turned in ((horizontal, vertical, False), (vertical, horizontal, True)):
        taps = across.taps
        most = max(2 * taps - 1, WORD) if across.dilation == 1 else taps
        for height in range(taps, most + 1):
            yield Lines(channels, copies, along, across, height, is_turned)
    flat = flat_axes(vertical, horizontal)
    if flat is not None:
        yield Lines(channels, copies, *flat, 1, False, True)


def flat_axes(vertical: Axis, horizontal: Axis) -> tuple[Axis, Axis] | None:
    """Return the axes of a picture as one row, if its windows are as wide, else None."""
    width = horizontal.taps
    if width != horizontal.source or not horizontal.is_inside or vertical.dilation != 1:
        return None
    along = replace(
        vertical,
        taps=vertical.taps * width,
        stride=vertical.stride * width,
        padding=vertical.padding * width,
        source=vertical.source * width,
    )
    return along, Axis(1, 1, 1, 0, 1, 1)
