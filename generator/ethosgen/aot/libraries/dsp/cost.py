"""The cycles of the DSP kernels.

The figures follow the loops of the C and are instructions counted on QEMU with code for a
Cortex-M33.
"""

from collections.abc import Sequence

from ethosgen.aot.cost import Cycles
from ethosgen.aot.libraries.framework.sizes import (
    LayerSizes,
    estimate_of,
    rows_or_patches,
    sizes_of,
)
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

ROWS, STEP = 4, 4
INSIDE = 0.75
"""The share of windows that are inside the input; those of whole words are not copied."""
MOST_FEW = 3
"""Channels for which rows are not widened."""


def products(rows: int, depth: int, channels: int) -> float:
    """Return the cycles of rows times weights."""
    steps = pieces(depth, STEP)
    blocks, last = divmod(rows, ROWS)
    tile = 40 + pieces(channels, 2) * (105 + 25.5 * steps)
    row = 50 + pieces(channels, 2) * (48 + 7.2 * steps)
    return blocks * tile + last * row + rows * (45 + 10.5 * steps)


def matrix(rows: int, depth: int, channels: int) -> float:
    """Return the cycles of rows times constant weights."""
    if channels > MOST_FEW:
        return products(rows, depth, channels)
    each = 80 + 18 * channels + (4.5 + 5 * channels) * (depth // STEP)
    return rows * (each + (20 + 5 * channels) * (depth % STEP > 0))


def windows(pixels: int, taps: tuple[int, int], depth: int, channels: int) -> float:
    """Return the cycles of a convolution, most of whose windows are inside the input."""
    rows, size = taps[0], taps[1] * depth
    copied = 130 + rows * (25 + 1.5 * size)
    if size % STEP == 0:
        in_place = 30 + 20 * rows if channels <= MOST_FEW else 70 + 35 * rows
        copied = INSIDE * in_place + (1 - INSIDE) * copied
    return matrix(pixels, rows * size, channels) + pixels * copied


def _rows(sizes: LayerSizes) -> float:
    return matrix(sizes.pixels, sizes.depth, sizes.channels // sizes.groups)


def _patches(sizes: LayerSizes) -> float:
    taps = sizes.taps_y, sizes.taps_x
    return sizes.groups * windows(sizes.pixels, taps, sizes.depth, sizes.channels // sizes.groups)


def _averages(sizes: LayerSizes) -> float:
    return sizes.pixels * (
        45 + pieces(sizes.channels, STEP) * (60 + 10 * sizes.taps_y + 7.1 * sizes.taps)
    )


def _maxima(sizes: LayerSizes) -> float:
    return sizes.pixels * (
        45 + pieces(sizes.channels, STEP) * (17 + 10 * sizes.taps_y + 6.1 * sizes.taps)
    )


def patches(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the cycles of a convolution that copies the pixels under each window."""
    return _patches(sizes_of(op, tensors))


DENSE: Cycles = estimate_of(_rows)
CONVOLUTION: Cycles = estimate_of(rows_or_patches(_rows, _patches))
AVERAGES: Cycles = estimate_of(_averages)
MAXIMA: Cycles = estimate_of(_maxima)
