"""Weights in the float kernels' reading order.

templates/kernels/floats/ethosgen_floats.h defines that order; change both together.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.loops.layer import Layer, read_layer
from ethosgen.values.network import Operator, Tensor

BLOCK = 4
"""Channels that a kernel computes at a time."""


def float_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer | None:
    """Return a layer whose weights can be packed, None if there is none."""
    layer = read_layer(op, tensors)
    known = [layer.weights] if layer.biases is None else [layer.weights, layer.biases]
    return layer if all(map(is_ordinary, known)) else None


def is_ordinary(tensor: Tensor) -> bool:
    """Return whether a constant is free of infinities, NaN and subnormal numbers.

    Windows beyond the input add zeros times weights, which must be zero. Helium treats a subnormal
    number as zero.
    """
    if tensor.data is None:
        return False
    values = np.abs(tensor.array())
    least = np.finfo(np.float32).tiny
    return bool(np.all(np.isfinite(values) & ((values >= least) | (values == 0))))


def biases_of(layer: Layer) -> Array:
    """Return the bias of each channel."""
    if layer.biases is None:
        return np.zeros(layer.channels, np.float32)
    return layer.biases.array().reshape(-1)


def matrix_weights(weights: Array, biases: Array, bounds: tuple[float, float]) -> Array:
    """Pack (channels, products): bounds, then for every 4 channels biases and weights."""
    blocks = padded(weights, BLOCK).reshape(-1, BLOCK, weights.shape[1]).transpose(0, 2, 1)
    first = padded(biases, BLOCK).reshape(-1, 1, BLOCK)
    packed = np.concatenate([first, blocks], axis=1).reshape(-1)
    return np.concatenate([np.array(bounds, np.float32), packed]).astype(np.float32)
