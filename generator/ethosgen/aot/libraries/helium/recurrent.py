"""Layers of int8 with state: SVDF with a state of int16, and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, folded_biases, padded
from ethosgen.aot.libraries.framework.products import OutputRange
from ethosgen.aot.libraries.framework.recurrent import MOST_FACTOR, curve_lines, four, gate_matrices
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
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import (
    Multiplier,
    limits,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.values.network import Operator, Tensor

LSTM_HEADERS = ("ethosgen_curve.h", "ethosgen_lstm.h", "ethosgen_sums.h")
SVDF = frozenset({"ethosgen_svdf.c", "ethosgen_sums.h"})
LSTM = frozenset({"ethosgen_lstm.c", *LSTM_HEADERS})


def svdf_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    layer = read_svdf(op, tensors)
    batch, depth = layer.source.shape
    units = layer.target.shape[1]
    filters = units * layer.rank
    blocks, past = -(-filters // order.MATRIX_CHANNELS), -(-(layer.memory - 1) // 8)
    ranks = 10.7 * filters if layer.rank > 1 else 0.0
    row = 58 + blocks * (181 + 10.0 * _vectors(depth)) + 5.0 * filters * past + ranks
    return batch * row / max(layer.target.elements, 1)


def lstm_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    layer = read_lstm(op, tensors)
    batch, steps, features, units = layer.sizes
    blocks = -(-units // order.MATRIX_CHANNELS)
    step = 25 + blocks * (482 + 40.0 * (_vectors(features) + _vectors(units)))
    return batch * (40 + steps * step) / max(layer.target.elements, 1)


def _vectors(depth: int) -> int:
    return -(-depth // order.MATRIX_DEPTH)


@packed("SVDF", cycles=svdf_cycles, for_helium=True)
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a row of features by one call."""
    layer = read_svdf(op, tensors)
    types = [t.dtype for t in (layer.features, layer.time, layer.state, layer.bias)]
    constants = (layer.features, layer.time, layer.bias)
    if (
        types != ["int8", "int16", "int16", "int32"]
        or zero_point_of(layer.state)
        or any(tensor.data is None for tensor in constants)
    ):
        return None
    batch = layer.source.shape[0]
    nest = Nest()
    x = nest.read("input", layer.source)
    weights = layer.features.array()
    biases = folded_biases(weights, zero_point_of(layer.source))
    tables = [
        nest.table("weights", order.matrix_weights(weights)),
        nest.table("biases", padded(biases, order.MATRIX_CHANNELS)),
        nest.table("time_weights", layer.time.array()),
        nest.table("unit_biases", padded(layer.bias.array(), order.MATRIX_CHANNELS)),
        nest.table("shape", _svdf_shape(layer)),
    ]
    y = nest.write("output", layer.target)
    state = nest.variable("state", layer.state)
    with nest.loop("n", batch) as n:
        places = [tirx.address_of(view[n, 0]) for view in (y, x, state)]
        nest.call("ethosgen_svdf_s8", *places, *(table.data for table in tables))
    return nest.kernel(SVDF)


def _svdf_shape(layer: Svdf) -> shapes.HeliumSvdf:
    """Return the struct of a layer."""
    held = scale_of(layer.state)
    into = quantize_multiplier(scale_of(layer.source) * scale_of(layer.features) / held)
    out = quantize_multiplier(held * scale_of(layer.time) / scale_of(layer.target))
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
    weights = lstm_weights(layer, order.MATRIX_DEPTH)
    return lstm_kernel("ethosgen_lstm_s8", LSTM, layer, weights, _lstm_biases(layer), shape)


def lstm_kernel(
    function: str,
    files: frozenset[str],
    layer: Lstm,
    weights: Array,
    biases: Array,
    shape: shapes.HeliumLstm,
) -> Kernel:
    """Return a kernel that calls a micro-kernel for each batch."""
    batch, _, _, units = layer.sizes
    nest = Nest()
    x = nest.read("input", layer.source)
    tables = [
        nest.table("weights", weights),
        nest.table("biases", biases),
        nest.table("lines", curve_lines()),
        nest.table("shape", shape),
    ]
    y = nest.write("output", layer.target)
    states = [
        nest.variable(name, tensor, (batch, units))
        for name, tensor in (("hidden_state", layer.hidden), ("cell_state", layer.cell))
    ]
    with nest.loop("n", batch) as n:
        row = (0, n, 0) if layer.by_time else (n, 0, 0)
        places = [tirx.address_of(view[row]) for view in (y, x)]
        places += [tirx.address_of(state[n, 0]) for state in states]
        nest.call(function, *places, *(table.data for table in tables))
    return nest.kernel(files)


def lstm_weights(layer: Lstm, lanes: int) -> Array:
    """Return the weights of each block of units, gate by gate."""
    blocks = -(-layer.sizes[3] // order.MATRIX_CHANNELS)
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
    if not is_covered(layer):
        return None
    gates = [
        multiplier_of(gate_multiplier(rows, weights)) for rows, weights in gate_matrices(layer)
    ]
    return lstm_shape(layer, gates)


def is_covered(layer: Lstm) -> bool:
    """Return whether the micro-kernels have the layer's constants and its cell state's factor."""
    constants = [*(weights for _, weights in gate_matrices(layer)), *layer.biases]
    factor, _ = cell_shift(scale_of(layer.cell))
    return all(tensor.data is not None for tensor in constants) and factor <= MOST_FACTOR


def lstm_shape(layer: Lstm, gates: Sequence[shapes.HeliumMultiplier]) -> shapes.HeliumLstm:
    """Return the struct of a layer, with the multipliers of `gate_matrices`."""
    batch, steps, features, units = layer.sizes
    kept, added, made = map(multiplier_of, cell_multipliers(layer))
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
        made=made,
        cell_low=low,
        cell_high=high,
        cell_factor=factor,
        cell_shift=shift,
        output=_output(layer.hidden),
    )
