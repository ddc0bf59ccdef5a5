"""UNIDIRECTIONAL_SEQUENCE_LSTM of int16."""

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.cost_s16 import one_row
from ethosgen.aot.libraries.dsp.matrix_s16 import MATRIX, matrix_of
from ethosgen.aot.libraries.dsp.shapes import DspLstmS16
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.libraries.framework.recurrent import cell_of, curve_lines
from ethosgen.aot.operators.recurrent import Lstm, gate_multiplier, read_lstm
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import limits
from ethosgen.values.network import Operator, Tensor

LSTM = MATRIX | {"ethosgen_dsp_lstm_s16.c", "ethosgen_dsp_cell.h"}
GATES = 4


def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    _, _, features, units = read_lstm(op, tensors).sizes
    gates = one_row(GATES * units, features) + one_row(GATES * units, units)
    return 180 + gates / max(units, 1)


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", dtype="int16", cycles=cycles)
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    layer = read_lstm(op, tensors)
    constants = [*layer.inputs, *layer.recurrent, *layer.biases]
    cell = cell_of(layer)
    if any(tensor.data is None for tensor in constants) or cell is None:
        return None
    batch, steps, features, units = layer.sizes
    forward, back = _forward(layer), _back(layer)
    if forward is None or back is None:
        return None
    shape = DspLstmS16(
        steps=steps,
        row_step=batch if layer.by_time else 1,
        forward=matrix_of(*forward, limits("int16")),
        back=matrix_of(*back, limits("int16")),
        cell=cell,
    )
    sides, nest = (forward, back), Nest()
    x = nest.read("input", layer.source)
    tables = [
        nest.table("weights", np.concatenate([order.matrix_weights(w) for w, _ in sides])),
        nest.table("scales", np.concatenate([scales.reshape(-1) for _, scales in sides])),
        nest.table("lines", curve_lines()),
        nest.table("shape", shape),
    ]
    y = nest.write("output", layer.target)
    states = [
        nest.variable(name, tensor, (batch, units))
        for name, tensor in (("hidden_state", layer.hidden), ("cell_state", layer.cell))
    ]
    room = nest.room("room", 4 * GATES * units + 4 * -(-max(features, units) // order.PAIR))
    with nest.loop("n", batch) as n:
        row = (0, n, 0) if layer.by_time else (n, 0, 0)
        places = [tirx.address_of(view[row]) for view in (y, x)]
        places += [tirx.address_of(state[n, 0]) for state in states]
        nest.call("ethosgen_dsp_lstm_s16", *places, room.data, *(t.data for t in tables))
    return nest.kernel(LSTM)


def _forward(layer: Lstm) -> tuple[Array, Array] | None:
    """Return the weights of all gates with the input, and their scales; None if there are none."""
    biases = [bias.array().reshape(-1) for bias in layer.biases]
    return _side(layer.source, layer.inputs, np.concatenate(biases).tolist())


def _back(layer: Lstm) -> tuple[Array, Array] | None:
    """Return the same with the hidden state."""
    return _side(layer.hidden, layer.recurrent, [0] * (GATES * layer.sizes[3]))


def _side(
    rows: Tensor, gates: Sequence[Tensor], biases: Sequence[int]
) -> tuple[Array, Array] | None:
    weights = np.concatenate([gate.array() for gate in gates])
    each = [gate_multiplier(rows, gate) for gate in gates for _ in range(gate.shape[0])]
    scales = order.channel_scales(biases, each, weights)
    return None if scales is None else (weights, scales)
