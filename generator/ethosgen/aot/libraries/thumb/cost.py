"""The cycles of the Thumb kernels.

The figures follow the loops of the C and are instructions counted on QEMU with code for a
Cortex-M3.
"""

import math
from collections.abc import Sequence

from ethosgen.aot.cost import Cycles
from ethosgen.aot.libraries.framework.sizes import (
    LayerSizes,
    estimate_of,
    rows_or_patches,
    sizes_of,
)
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.operators.recurrent import read_lstm, read_svdf
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

ROWS, CHANNELS = 2, 4
ROW_CHANNELS = 8
"""Channels of a single row that are computed at a time."""


def _products(rows: int, depth: int, channels: int) -> float:
    """Return the cycles of rows times weights."""
    blocks, rest = divmod(channels, CHANNELS)
    pairs, last = divmod(rows, ROWS)

    def block(width: int) -> float:
        return 45 + width * (8 + 18 * ROWS) + depth * (ROWS + width * (1 + ROWS) + 0.75)

    pair = 50 + blocks * block(CHANNELS) + (block(rest) if rest else 0)
    return pairs * pair + (_row(depth, channels) if last else 0)


def _row(depth: int, channels: int) -> float:
    """Return the cycles of a row times weights."""
    eights, others = divmod(channels, ROW_CHANNELS)
    fours = pieces(others, CHANNELS)
    sums = fours * (45 + 1.75 * depth) + others * (26 + 2.0 * depth)
    return 50 + eights * (40 + 26 * ROW_CHANNELS + 17.5 * depth) + sums


def _rows(sizes: LayerSizes) -> float:
    return _products(sizes.pixels, sizes.depth, sizes.channels)


def windows(pixels: int, taps: tuple[int, int], depth: int, channels: int) -> float:
    """Return the cycles of a convolution that copies `pixels` windows."""
    down, across = taps
    copies = 60 + down * (25 + 0.75 * across * depth)
    return _products(pixels, down * across * depth, channels) + pixels * copies


def _patches(sizes: LayerSizes) -> float:
    taps = sizes.taps_y, sizes.taps_x
    return sizes.groups * windows(sizes.pixels, taps, sizes.depth, sizes.channels // sizes.groups)


def patches(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the cycles of a convolution that copies the pixels under each window."""
    return _patches(sizes_of(op, tensors))


def shares_taps(across: Axis) -> bool:
    """Return whether windows in a row share the values that the kernel loads."""
    return across.taps == 3 and across.dilation == 1 and across.stride in (1, 2)


def plane(down: Axis, across: Axis, strip: int, height: int) -> float:
    """Return the cycles to copy a channel of the input to planes of `height` rows."""
    return pieces(down.target, strip) * (60 + height * (15 + 5 * across.source))


def depthwise(down: Axis, across: Axis, copies: int) -> float:
    """Return the cycles of a channel of the input, 4 windows in a row at a time."""
    fours, rest = divmod(across.target, 4)
    if rest > 1:
        fours, rest = fours + 1, 0
    row = 26.0 if shares_taps(across) else 8 + 12.0 * across.taps
    run = fours * (80 + down.taps * row) + rest * (35 + down.taps * (8 + 6 * across.taps))
    return copies * down.target * (25 + run)


def depthwise_copies(down: Axis, across: Axis, copies: int) -> float:
    """Return the cycles of a channel of the input, 4 outputs of a window at a time."""
    window = 120 + down.taps * (8 + 13 * across.taps)
    return copies / CHANNELS * down.target * (25 + across.target * window)


def direct(down: Axis, across: Axis, channels: int) -> float:
    """Return the cycles of each output of a depthwise layer that has no plane."""
    padded = 1 - math.prod(_inside(axis) / axis.target for axis in (down, across))
    return 40 + (110 + padded * (120 + 6 * channels)) / channels


def _inside(axis: Axis) -> int:
    """Return the number of windows that do not leave the input."""
    first = pieces(axis.padding, axis.stride)
    last = (axis.source + axis.padding - axis.taps) // axis.stride
    return max(min(last, axis.target - 1) - first + 1, 0)


def _averages(sizes: LayerSizes) -> float:
    blocks = _blocks(sizes.channels)
    return sizes.pixels * (
        60 + sizes.channels * 17 + blocks * (24 + 6 * sizes.taps_y + 11 * sizes.taps)
    )


def _maxima(sizes: LayerSizes) -> float:
    blocks = _blocks(sizes.channels)
    return sizes.pixels * (
        60 + sizes.channels * 2 + blocks * (24 + 6 * sizes.taps_y + 19 * sizes.taps)
    )


def _sums(rows: int, depth: int) -> float:
    """Return the cycles of the sums of a row."""
    return pieces(rows, ROW_CHANNELS) * (65 + 17.5 * depth)


def svdf(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    layer = read_svdf(op, tensors)
    filters, depth = layer.time.shape[0], layer.source.shape[1]
    row = 90 + depth + _sums(filters, depth) + filters * (65 + 7.0 * layer.memory)
    return 40 + row / max(layer.target.shape[1], 1)


def lstm(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    _, _, features, units = read_lstm(op, tensors).sizes
    row = 100 + features + units + _sums(4 * units, features) + _sums(4 * units, units)
    return 400 + row / max(units, 1)


def matrix_product(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output of a BATCH_MATMUL."""
    first, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    depth = first.shape[-2 if op.options.get("adj_x") else -1]
    fours, rest = divmod(target.shape[-1], CHANNELS)
    row = fours * (140 + 15 * depth) + rest * (55 + 8 * depth)
    return 5 + row / target.shape[-1]


def _blocks(channels: int) -> int:
    return channels // CHANNELS + channels % CHANNELS


DENSE: Cycles = estimate_of(_rows)
CONVOLUTION: Cycles = estimate_of(rows_or_patches(_rows, _patches))
AVERAGES: Cycles = estimate_of(_averages)
MAXIMA: Cycles = estimate_of(_maxima)
