"""The cycles of the DSP kernels.

The figures follow the loops of the C and are instructions counted on QEMU with code for a
Cortex-M33.
"""

from collections.abc import Sequence

from ethosgen.aot.cost import Cycles
from ethosgen.aot.packed.cost import Sizes, estimate_of, sizes_of
from ethosgen.values.network import Operator, Tensor

ROWS, STEP = 4, 4


def _up(value: int, to: int) -> int:
    return -(-value // to)


def products(rows: int, depth: int, channels: int) -> float:
    """Return the cycles of rows times weights."""
    steps = _up(depth, STEP)
    blocks, last = divmod(rows, ROWS)
    tile = _up(channels, 2) * (150 + 25.5 * steps)
    row = _up(channels, 4) * (120 + 15 * steps)
    rest = row if last == 1 else tile * (last > 1)
    return blocks * (tile + 60) + rest + rows * (10 + 11 * steps)


def windows(pixels: int, taps: tuple[int, int], depth: int, channels: int) -> float:
    """Return the cycles of a convolution that copies the pixels under each window."""
    rows, columns = taps
    copies = 60 + rows * (20 + 1.5 * columns * depth)
    return products(pixels, rows * columns * depth, channels) + pixels * copies


def _rows(one: Sizes) -> float:
    return products(one.pixels, one.depth, one.channels // one.groups)


def _patches(one: Sizes) -> float:
    taps = one.taps_y, one.taps_x
    return one.groups * windows(one.pixels, taps, one.depth, one.channels // one.groups)


def _convolution(one: Sizes) -> float:
    return _rows(one) if one.is_point and one.groups == 1 else _patches(one)


def _averages(one: Sizes) -> float:
    return one.pixels * (45 + _up(one.channels, STEP) * (60 + 10 * one.taps_y + 7.1 * one.taps))


def _maxima(one: Sizes) -> float:
    return one.pixels * (45 + _up(one.channels, STEP) * (17 + 10 * one.taps_y + 6.1 * one.taps))


def patches(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the cycles of a convolution that copies the pixels under each window."""
    return _patches(sizes_of(op, tensors))


DENSE: Cycles = estimate_of(_rows)
CONVOLUTION: Cycles = estimate_of(_convolution)
AVERAGES: Cycles = estimate_of(_averages)
MAXIMA: Cycles = estimate_of(_maxima)
