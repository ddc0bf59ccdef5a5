"""The cycles of the DSP kernels for int16.

The figures follow the loops of the C and are instructions counted on QEMU with code for a
Cortex-M33.
"""

from collections.abc import Sequence

from ethosgen.aot.cost import Cycles
from ethosgen.aot.libraries.framework.sizes import (
    LayerSizes,
    estimate_of,
    pieces,
    rows_or_patches,
    sizes_of,
)
from ethosgen.values.network import Operator, Tensor

ROWS, WORD, LANES, FOUR = 4, 2, 8, 4


def one_row(channels: int, depth: int) -> float:
    """Return the cycles of a row times weights."""
    return 110 + pieces(channels, 2) * (40 + 4.7 * pieces(depth, WORD))


def _products(one: LayerSizes, depth: int, rows: int) -> float:
    """Return the cycles of rows times weights."""
    pairs, words = pieces(one.channels // one.groups, 2), pieces(depth, WORD)
    blocks, last = divmod(rows, ROWS)
    tile = 150 + pairs * (75 + 13.5 * words)
    rest = tile if last == ROWS - 1 else one_row(one.channels // one.groups, depth) * last
    return blocks * tile + rest


def _rows(one: LayerSizes) -> float:
    copies = one.pixels * (40 + 2.7 * pieces(one.depth, WORD))
    return _products(one, one.depth, one.pixels) + (copies if one.pixels > WORD else 0)


def _patches(one: LayerSizes) -> float:
    copies = 60 + one.taps_y * (60 + 1.35 * one.taps_x * one.depth)
    made = _products(one, one.taps * one.depth, one.pixels) + one.pixels * copies
    return one.groups * made


def _depthwise(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the cycles for each output."""
    one, depth = sizes_of(op, tensors), tensors[op.inputs[0]].shape[3]
    if depth == 1 < one.channels:
        return _patches(one) / max(tensors[op.outputs[0]].elements, 1)
    if depth < one.channels or depth < FOUR:
        each = 50 + 12 * one.taps_y + 7.0 * one.taps
        return each + 70 / one.channels
    block = 60 + 12 * one.taps_y + 13.5 * one.taps
    return (70 + pieces(one.channels, FOUR) * block) / one.channels


def _pool(one: LayerSizes, block: float, tap: float, pair: float) -> float:
    """Return the cycles of windows of 8 channels, and of 2: without taps, and for each tap."""
    many, rest = divmod(one.channels, LANES)
    rows = 9 * one.taps_y
    whole = many * (block + rows + tap * one.taps)
    return one.pixels * (70 + whole + pieces(rest, WORD) * (pair + rows + 8 * one.taps))


def _averages(one: LayerSizes) -> float:
    return _pool(one, 110.0, 18.0, 42.0)


def _maxima(one: LayerSizes) -> float:
    return _pool(one, 45.0, 18.0, 30.0)


DENSE: Cycles = estimate_of(_rows)
CONVOLUTION: Cycles = estimate_of(rows_or_patches(_rows, _patches))
DEPTHWISE: Cycles = _depthwise
AVERAGES: Cycles = estimate_of(_averages)
MAXIMA: Cycles = estimate_of(_maxima)
