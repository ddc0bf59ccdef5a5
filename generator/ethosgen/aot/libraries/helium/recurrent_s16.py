"""UNIDIRECTIONAL_SEQUENCE_LSTM of int16."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, padded, sums_fit
from ethosgen.aot.libraries.framework.recurrent import gate_matrices
from ethosgen.aot.libraries.helium import order, shapes
from ethosgen.aot.libraries.helium.recurrent import (
    LSTM_HEADERS,
    is_covered,
    lstm_kernel,
    lstm_shape,
    lstm_weights,
)
from ethosgen.aot.operators.recurrent import Lstm, gate_multiplier, read_lstm
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.quantization import Multiplier, shorten
from ethosgen.values.network import Operator, Tensor

LSTM = frozenset({"ethosgen_lstm_s16.c", "ethosgen_sums_s16.h", *LSTM_HEADERS})
LEAST_SHIFT = 17
"""The least right shift of a product with a mantissa of 15 bits."""
MOST_SHIFT = 31
"""A shift of a product's upper half by as many bits leaves nothing."""


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", dtype="int16", for_helium=True)
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    layer = read_lstm(op, tensors)
    biases = _biases(layer) if is_covered(layer) else None
    if biases is None:
        return None
    gates = [
        _multiplier_of(gate_multiplier(rows, weights)) for rows, weights in gate_matrices(layer)
    ]
    weights = lstm_weights(layer, order.MATRIX_DEPTH_S16)
    shape = lstm_shape(layer, gates)
    return lstm_kernel("ethosgen_lstm_s16", LSTM, layer, weights, biases, shape)


def _multiplier_of(multiplier: Multiplier) -> shapes.HeliumMultiplier:
    """Return the struct of a factor for sums that are rounded once."""
    mantissa, shift = shorten(multiplier)
    left = max(LEAST_SHIFT - shift, 0)
    right = max(16 - shift - left, -MOST_SHIFT)
    return shapes.HeliumMultiplier(mantissa=mantissa << 16, left=left, right=right)


def _biases(layer: Lstm) -> Array | None:
    """Return the biases in the order of the weights, None if a sum needs more than 32 bits.

    Neither may a rescaled one, which would wrap around in TFLite Micro, and saturates here.
    """
    columns = []
    zeros = np.zeros(layer.sizes[3], np.int64)
    starts = [start for bias in layer.biases for start in (bias.array().astype(np.int64), zeros)]
    for (rows, weights), start in zip(gate_matrices(layer), starts, strict=True):
        mantissa, shift = shorten(gate_multiplier(rows, weights))
        if not sums_fit(weights.array(), start, max(mantissa * 2.0**-shift, 1.0)):
            return None
        blocks = padded(start.astype(np.int32), order.MATRIX_CHANNELS)
        columns.append(blocks.reshape(-1, order.MATRIX_CHANNELS))
    return np.concatenate(columns, axis=1).reshape(-1)
