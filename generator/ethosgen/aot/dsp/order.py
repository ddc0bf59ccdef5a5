"""Weights and scales in the order in which the DSP kernels read them.

templates/kernels/dsp/ethosgen_dsp.h defines that order; change both together.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.arithmetic.quantization import zero_point_of
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.packed.order import Array, packable_layer
from ethosgen.values.network import Operator, Tensor

CHANNELS, STEP = 4, 4
"""Channels of a block of the matrix kernel, and places of a step."""
SHIFTS = range(1, 23)
"""The shifts with which an addend fits in 32 bits."""
EXCESS = 128
"""What is added to the weights of even channels."""
MOST_INPUT = 128
"""The greatest magnitude of an input."""


def dsp_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer | None:
    """Return the layer if the DSP kernels can compute its outputs from their sums."""
    layer = packable_layer(op, tensors)
    if layer is None or not all(-multiplier.shift in SHIFTS for multiplier in layer.multipliers):
        return None
    return layer


def sums_fit(table: Array, weights: Array) -> bool:
    """Return whether twice any sum fits in 32 bits, and without the bias in 24 bits.

    `table` is that of `channel_table`; weights are (channels, products).
    """
    products = MOST_INPUT * np.abs(weights.astype(np.int64)).sum(axis=1)
    most = np.abs(table[:, 0].astype(np.int64)) + products
    return bool(products.max() < 1 << 23 and most.max() < 1 << 30)


def scales(layer: Layer, table: Array) -> Array:
    """Return (channels, 4) of structs ethosgen_dsp_scale, with single biases."""
    point = zero_point_of(layer.target)
    shift = -table[:, 2]
    addend = (1 << (shift - 1)) + (point << shift)
    return np.stack([table[:, 0], table[:, 1], addend, shift], axis=1).astype(np.int32)


def matrix_scales(layer: Layer, table: Array) -> Array:
    """Return the scales of a matrix: the biases of odd channels are doubled."""
    made = scales(layer, table)
    made[1::2, 0] *= 2
    return _padded(made, CHANNELS, 0).reshape(-1)


def matrix_weights(weights: Array) -> Array:
    """Pack (channels, depth) for every 4 channels, for every 4 places.

    The order of a step's 16 bytes is: places 0 and 2 of the first pair of channels, of the second
    pair, places 1 and 3 of the first, of the second; of each place both channels of the pair.
    """
    blocks = _padded(_padded(weights, CHANNELS, 0), STEP, 1).astype(np.int16)
    split = blocks.reshape(len(blocks) // CHANNELS, 2, 2, -1, 2, 2)
    split[:, :, 0] += EXCESS
    # Axes: block, pair, channel of the pair, step, half of the step, place of the half.
    ordered = split.transpose(0, 3, 5, 1, 4, 2)
    return np.ascontiguousarray(ordered).reshape(-1).astype(np.uint8).view(np.int8)


def _padded(array: Array, multiple: int, axis: int) -> Array:
    """Return an array zero-padded at the end of an axis to a multiple of a length."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, -array.shape[axis] % multiple)
    return np.pad(array, widths)
