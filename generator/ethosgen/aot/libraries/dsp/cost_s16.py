"""The cycles of the DSP kernels for int16.

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

ROWS, WORD, LANES, FOUR = 4, 2, 8, 4


def one_row(channels: int, depth: int) -> float:
    """Return the cycles of a row times weights."""
    return 110 + pieces(channels, 2) * (40 + 4.7 * pieces(depth, WORD))


def _products(sizes: LayerSizes, depth: int, rows: int) -> float:
    """Return the cycles of rows times weights."""
    pairs, words = pieces(sizes.channels // sizes.groups, 2), pieces(depth, WORD)
    blocks, last = divmod(rows, ROWS)
    tile = 150 + pairs * (75 + 13.5 * words)
    rest = tile if last == ROWS - 1 else one_row(sizes.channels // sizes.groups, depth) * last
    return blocks * tile + rest


def _rows(sizes: LayerSizes) -> float:
    copies = sizes.pixels * (40 + 2.7 * pieces(sizes.depth, WORD))
    return _products(sizes, sizes.depth, sizes.pixels) + (copies if sizes.pixels > WORD else 0)


def _patches(sizes: LayerSizes) -> float:
    copies = 60 + sizes.taps_y * (60 + 1.35 * sizes.taps_x * sizes.depth)
    multiplied = _products(sizes, sizes.taps * sizes.depth, sizes.pixels) + sizes.pixels * copies
    return sizes.groups * multiplied


def _depthwise(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the cycles per output."""
    sizes, depth = sizes_of(op, tensors), tensors[op.inputs[0]].shape[3]
    if depth == 1 < sizes.channels:
        return _patches(sizes) / max(tensors[op.outputs[0]].elements, 1)
    if depth < sizes.channels or depth < FOUR:
        each = 50 + 12 * sizes.taps_y + 7.0 * sizes.taps
        return each + 70 / sizes.channels
    block = 60 + 12 * sizes.taps_y + 13.5 * sizes.taps
    return (70 + pieces(sizes.channels, FOUR) * block) / sizes.channels


def _pool(sizes: LayerSizes, block: float, tap: float, pair: float) -> float:
    """Return the cycles of windows of 8 channels, and of 2: without taps, and for each tap."""
    many, rest = divmod(sizes.channels, LANES)
    rows = 9 * sizes.taps_y
    whole = many * (block + rows + tap * sizes.taps)
    return sizes.pixels * (70 + whole + pieces(rest, WORD) * (pair + rows + 8 * sizes.taps))


def _averages(sizes: LayerSizes) -> float:
    return _pool(sizes, 110.0, 18.0, 42.0)


def _maxima(sizes: LayerSizes) -> float:
    return _pool(sizes, 45.0, 18.0, 30.0)


DENSE: Cycles = estimate_of(_rows)
CONVOLUTION: Cycles = estimate_of(rows_or_patches(_rows, _patches))
DEPTHWISE: Cycles = _depthwise
AVERAGES: Cycles = estimate_of(_averages)
MAXIMA: Cycles = estimate_of(_maxima)
