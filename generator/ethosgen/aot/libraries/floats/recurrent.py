"""Layers of float32 with state: SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import MATRIX, two_forms
from ethosgen.aot.libraries.floats.product import WHOLE
from ethosgen.aot.libraries.floats.shapes import contiguous
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.operators.recurrent import (
    GATES,
    lstm_update,
    read_lstm,
    read_svdf,
    svdf_finish,
)
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tvm import tirx
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

SVDF = MATRIX | {"ethosgen_svdf_f32.c"}
FILTER, STEP = 20, {cost.HELIUM: 8.0, cost.IN_C: 28.0}
"""Instructions of 4 filters, and of a step of their memory."""
UNIT = 330
"""Instructions of an LSTM's unit outside its sums: five calls of expf() or tanhf()."""


def _svdf(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    layer = read_svdf(op, tensors)
    batch, depth = layer.source.shape
    filters = layer.features.shape[0]
    blocks = pieces(filters, order.BLOCK)
    run = blocks * (FILTER + STEP[by] * layer.memory)
    return cost.rows(by, batch, depth, filters) + batch * (40 + run + 10 * filters)


@packed("SVDF", dtype="float32", cycles=two_forms(_svdf))
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply the features of all filters at once, then sum four filters over time."""
    layer = read_svdf(op, tensors)
    constants = (layer.features, layer.time, layer.bias)
    is_plain = layer.state.dtype == "float32" and layer.memory > 0
    if not is_plain or not all(map(order.is_ordinary, constants)):
        return None
    batch, depth = layer.source.shape
    filters, memory = layer.time.shape
    finish = svdf_finish(op)
    nest = Nest()
    x, bias = nest.read("input", layer.source), nest.read("bias", layer.bias)
    blocks = padded(layer.time.array(), order.BLOCK).reshape(-1, order.BLOCK, memory)
    time = nest.table("time_weights", np.ascontiguousarray(blocks.transpose(0, 2, 1)))
    weights = nest.table("feature_weights", _packed_sums(layer.features.array()))
    shape = nest.table("shape", contiguous(batch, depth, filters))
    output = nest.write("output", layer.target)
    state = nest.variable("state", layer.state, (batch, filters, memory))
    now = nest.workspace("now", "float32", (batch, filters))
    recalled = nest.workspace("recalled", "float32", (filters,))
    nest.call("ethosgen_matrix_f32", now.data, x.data, weights.data, shape.data)
    with nest.loop("n", batch) as n:
        places = tirx.address_of(state[n, 0, 0]), tirx.address_of(now[n, 0])
        nest.call("ethosgen_svdf_f32", recalled.data, *places, time.data, filters, memory)
        with nest.loop("unit", filters // layer.rank) as unit:
            total = bias[unit]
            for r in range(layer.rank):
                total = total + recalled[unit * layer.rank + r]
            nest.store(output, (n, unit), finish(nest, total))
    return nest.kernel(SVDF)


def _packed_sums(weights: Array, biases: Array | None = None) -> Array:
    """Pack weights of sums without bounds."""
    return order.matrix_weights(
        weights, np.zeros(len(weights), np.float32) if biases is None else biases, WHOLE
    )


def _lstm(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    batch, steps, features, units = read_lstm(op, tensors).sizes
    gates = sum(cost.rows(by, 1, depth, 4 * units) for depth in (features, units))
    return batch * steps * (gates + units * UNIT)


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", dtype="float32", cycles=two_forms(_lstm))
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute the sums of all gates at once, step by step."""
    layer = read_lstm(op, tensors)
    if not all(map(order.is_ordinary, (*layer.inputs, *layer.recurrent, *layer.biases))):
        return None
    batch, steps, features, units = layer.sizes
    count = len(GATES) * units
    inputs, recurrent, biases = (
        np.concatenate([tensor.array() for tensor in gates])
        for gates in (layer.inputs, layer.recurrent, layer.biases)
    )
    nest = Nest()
    x = nest.read("input", layer.source)
    forward = nest.table("input_weights", _packed_sums(inputs, biases))
    back = nest.table("recurrent_weights", _packed_sums(recurrent))
    of_input = nest.table("input_shape", contiguous(1, features, count))
    of_hidden = nest.table("recurrent_shape", contiguous(1, units, count))
    output = nest.write("output", layer.target)
    hidden = nest.variable("hidden_state", layer.hidden, (batch, units))
    cell = nest.variable("cell_state", layer.cell, (batch, units))
    first = nest.workspace("first", "float32", (len(GATES), units))
    second = nest.workspace("second", "float32", (len(GATES), units))
    update = lstm_update(nest, layer, cell)
    with nest.loop("n", batch) as n, nest.loop("t", steps) as t:
        row = (t, n) if layer.by_time else (n, t)
        place, held = tirx.address_of(x[(*row, 0)]), tirx.address_of(hidden[n, 0])
        nest.call("ethosgen_matrix_f32", first.data, place, forward.data, of_input.data)
        nest.call("ethosgen_matrix_f32", second.data, held, back.data, of_hidden.data)
        with nest.loop("unit", units) as unit:
            gates = {
                name: nest.keep(f"{name}_value", first[g, unit] + second[g, unit])
                for g, name in enumerate(GATES)
            }
            updated = nest.keep("made", update(n, unit, gates))
            nest.store(output, (*row, unit), updated)
            nest.store(hidden, (n, unit), updated)
    return nest.kernel(MATRIX)
