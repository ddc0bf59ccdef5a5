"""Layers with state: SVDF of int8 with a state of int16, and LSTM of int8 and int16."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.framework.calls import CFunction
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, folded_biases, padded, sums_fit
from ethosgen.aot.libraries.framework.products import OutputRange
from ethosgen.aot.libraries.framework.recurrent import (
    MOST_FACTOR,
    curve_lines,
    four,
    gate_matrices,
    is_covered,
    lstm_kernel,
    svdf_kernel,
    svdf_multipliers,
)
from ethosgen.aot.libraries.helium import order, shapes
from ethosgen.aot.operators.recurrent import (
    Lstm,
    Svdf,
    cell_clip,
    cell_multipliers,
    cell_shift,
    gate_multiplier,
    read_lstm,
    read_svdf,
)
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.aot.tir.quantization import (
    Multiplier,
    limits,
    scale_of,
    shorten,
    zero_point_of,
)
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

LSTM_HEADERS = ("ethosgen_curve.h", "ethosgen_lstm.h", "ethosgen_sums.h")
SVDF = frozenset({"ethosgen_svdf.c", "ethosgen_sums.h"})
LSTM = frozenset({"ethosgen_lstm.c", *LSTM_HEADERS})
LSTM_S16 = frozenset({"ethosgen_lstm_s16.c", "ethosgen_sums_s16.h", *LSTM_HEADERS})
LEAST_SHIFT = 17
"""The least right shift of a product with a mantissa of 15 bits."""
MOST_SHIFT = 31
"""A shift of a product's upper half by as many bits leaves nothing."""


def svdf_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    layer = read_svdf(op, tensors)
    batch, depth = layer.source.shape
    units = layer.target.shape[1]
    filters = units * layer.rank
    blocks, past = pieces(filters, order.MATRIX_CHANNELS), pieces(layer.memory - 1, 8)
    ranks = 10.7 * filters if layer.rank > 1 else 0.0
    row = 58 + blocks * (165 + 10.0 * _vectors(depth)) + 5.0 * filters * past + ranks
    return batch * row / max(layer.target.elements, 1)


def lstm_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    layer = read_lstm(op, tensors)
    batch, steps, features, units = layer.sizes
    blocks = pieces(units, order.MATRIX_CHANNELS)
    step = 25 + blocks * (482 + 40.0 * (_vectors(features) + _vectors(units)))
    return batch * (40 + steps * step) / max(layer.target.elements, 1)


def _vectors(depth: int) -> int:
    return pieces(depth, order.MATRIX_DEPTH)


@packed("SVDF", cycles=svdf_cycles, for_helium=True)
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a row of features by one call."""
    layer = read_svdf(op, tensors)
    if not is_covered(layer):
        return None
    weights = layer.features.array()
    biases = folded_biases(weights, zero_point_of(layer.source))
    constants: dict[str, Table] = {
        "weights": order.matrix_weights(weights),
        "biases": padded(biases, order.MATRIX_CHANNELS),
        "time_weights": layer.time.array(),
        "unit_biases": padded(layer.bias.array(), order.MATRIX_CHANNELS),
        "shape": _svdf_shape(layer),
    }
    return svdf_kernel(layer, CFunction("ethosgen_svdf_s8", SVDF), constants)


def _svdf_shape(layer: Svdf) -> shapes.HeliumSvdf:
    """Return the struct of a layer."""
    into, out = svdf_multipliers(layer)
    return shapes.HeliumSvdf(
        depth=layer.source.shape[1],
        units=layer.target.shape[1],
        rank=layer.rank,
        memory=layer.memory,
        into=multiplier_of(into),
        out=multiplier_of(out),
        output=_output(layer.target),
    )


def _output(target: Tensor) -> OutputRange:
    low, high = limits(target.dtype)
    return OutputRange(zero_point=zero_point_of(target), low=low, high=high)


def multiplier_of(by: Multiplier) -> shapes.HeliumMultiplier:
    """Return the struct of a factor."""
    return shapes.HeliumMultiplier(
        mantissa=by.mantissa, left=max(by.shift, 0), right=min(by.shift, 0)
    )


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", cycles=lstm_cycles, for_helium=True)
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    layer = read_lstm(op, tensors)
    shape = _lstm_shape(layer)
    if shape is None:
        return None
    constants: dict[str, Table] = {
        "weights": lstm_weights(layer, order.MATRIX_DEPTH),
        "biases": _lstm_biases(layer),
        "lines": curve_lines(),
        "shape": shape,
    }
    return lstm_kernel(layer, CFunction("ethosgen_lstm_s8", LSTM), constants)


def lstm_weights(layer: Lstm, lanes: int) -> Array:
    """Return the weights of each block of units, gate by gate."""
    blocks = pieces(layer.sizes[3], order.MATRIX_CHANNELS)
    packs = [
        order.matrix_weights(weights.array(), lanes).reshape(blocks, -1)
        for _, weights in gate_matrices(layer)
    ]
    return np.concatenate(packs, axis=1).reshape(-1)


def _lstm_biases(layer: Lstm) -> Array:
    """Return the biases in the order of the weights; those of the hidden state are 0."""
    biases = [b for bias in layer.biases for b in (bias.array().astype(np.int64), 0)]
    folded = [
        padded(
            folded_biases(weights.array(), zero_point_of(rows), bias), order.MATRIX_CHANNELS
        ).reshape(-1, order.MATRIX_CHANNELS)
        for (rows, weights), bias in zip(gate_matrices(layer), biases, strict=True)
    ]
    return np.concatenate(folded, axis=1).reshape(-1)


def _lstm_shape(layer: Lstm) -> shapes.HeliumLstm | None:
    """Return the struct of a layer, None if the micro-kernel does not cover the layer."""
    if not is_lstm_covered(layer):
        return None
    gates = [
        multiplier_of(gate_multiplier(rows, weights)) for rows, weights in gate_matrices(layer)
    ]
    return lstm_shape(layer, gates)


def is_lstm_covered(layer: Lstm) -> bool:
    """Return whether the micro-kernels have the layer's constants and its cell state's factor."""
    constants = [*(weights for _, weights in gate_matrices(layer)), *layer.biases]
    factor, _ = cell_shift(scale_of(layer.cell))
    return all(tensor.data is not None for tensor in constants) and factor <= MOST_FACTOR


def lstm_shape(layer: Lstm, gates: Sequence[shapes.HeliumMultiplier]) -> shapes.HeliumLstm:
    """Return the struct of a layer, with the multipliers of `gate_matrices`."""
    batch, steps, features, units = layer.sizes
    kept, added, output = map(multiplier_of, cell_multipliers(layer))
    low, high = cell_clip(layer)
    factor, shift = cell_shift(scale_of(layer.cell))
    return shapes.HeliumLstm(
        steps=steps,
        row_step=batch if layer.by_time else 1,
        features=features,
        units=units,
        forward=four(gates[::2]),
        back=four(gates[1::2]),
        kept=kept,
        added=added,
        hidden=output,
        cell_low=low,
        cell_high=high,
        cell_factor=factor,
        cell_shift=shift,
        output=_output(layer.hidden),
    )


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", dtype="int16", for_helium=True)
def lstm_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    layer = read_lstm(op, tensors)
    biases = _biases(layer) if is_lstm_covered(layer) else None
    if biases is None:
        return None
    gates = [
        _multiplier_of(gate_multiplier(rows, weights)) for rows, weights in gate_matrices(layer)
    ]
    constants: dict[str, Table] = {
        "weights": lstm_weights(layer, order.MATRIX_DEPTH_S16),
        "biases": biases,
        "lines": curve_lines(),
        "shape": lstm_shape(layer, gates),
    }
    return lstm_kernel(layer, CFunction("ethosgen_lstm_s16", LSTM_S16), constants)


def _multiplier_of(multiplier: Multiplier) -> shapes.HeliumMultiplier:
    """Return the struct of a factor for sums that are rounded once."""
    mantissa, shift = shorten(multiplier)
    left = max(LEAST_SHIFT - shift, 0)
    right = max(16 - shift - left, -MOST_SHIFT)
    return shapes.HeliumMultiplier(mantissa=mantissa << 16, left=left, right=right)


def _biases(layer: Lstm) -> Array | None:
    """Return the biases in the order of the weights, None if a sum needs more than 32 bits.

    The same holds for a rescaled sum, which would wrap around in TFLite Micro, and saturates here.
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
