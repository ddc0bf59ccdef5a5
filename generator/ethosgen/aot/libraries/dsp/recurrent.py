"""Layers with state: SVDF of int8 with a state of int16, and LSTM of int8 and int16."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.dsp import order, order_s16
from ethosgen.aot.libraries.dsp.cost_s16 import one_row
from ethosgen.aot.libraries.dsp.layers_s16 import MATRIX as MATRIX_S16
from ethosgen.aot.libraries.dsp.layers_s16 import matrix_of
from ethosgen.aot.libraries.dsp.matrix import MATRIX, whole_steps
from ethosgen.aot.libraries.dsp.shapes import DspLstmS16
from ethosgen.aot.libraries.framework.calls import CFunction
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.libraries.framework.recurrent import (
    RowSums,
    cell_of,
    curve_lines,
    lstm_kernel,
    lstm_of,
    svdf_of,
)
from ethosgen.aot.operators.recurrent import Lstm, gate_multiplier, read_lstm, read_svdf
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.aot.tir.quantization import limits
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

MOST_PLACES = 508
"""Places of a row of which a channel's sum fits in 24 bits, whatever the weights."""
LSTM_S16 = MATRIX_S16 | {"ethosgen_dsp_lstm_s16.c", "ethosgen_dsp_cell.h"}
GATES = 4


def _sums(rows: int, steps: int) -> float:
    """Return the estimated cycles of the sums of a row with `rows` rows of weights."""
    return pieces(rows, 2) * (28 + 7.2 * steps)


def _steps(depth: int) -> int:
    return whole_steps(depth) // order.STEP


def svdf_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    layer = read_svdf(op, tensors)
    filters, steps = layer.time.shape[0], _steps(layer.source.shape[1])
    row = 90 + 11 * steps + _sums(filters, steps) + filters * (57 + 3.0 * layer.memory)
    return 30 + row / max(layer.target.shape[1], 1)


def lstm_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    _, _, features, units = read_lstm(op, tensors).sizes
    ahead, behind = _steps(features), _steps(units)
    row = 100 + 11 * (ahead + behind) + _sums(4 * units, ahead) + _sums(4 * units, behind)
    return 325 + row / max(units, 1)


@packed("SVDF", cycles=svdf_cycles)
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a row of features by one call."""
    return svdf_of(op, tensors, SUMS)


def _places(block: Array) -> Array:
    """Pack a block of filters by parts of its depth."""
    parts = range(0, block.shape[1], MOST_PLACES)
    return np.concatenate([order.matrix_weights(block[:, p : p + MOST_PLACES]) for p in parts])


SUMS = RowSums(
    MATRIX | {"ethosgen_dsp_sums.c"},
    _places,
    lambda _, biases: biases,
    lambda depth: 2 * whole_steps(depth),
)


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", cycles=lstm_cycles)
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    return lstm_of(op, tensors, SUMS)


def lstm_cycles_s16(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    _, _, features, units = read_lstm(op, tensors).sizes
    gates = one_row(GATES * units, features) + one_row(GATES * units, units)
    return 180 + gates / max(units, 1)


@packed("UNIDIRECTIONAL_SEQUENCE_LSTM", dtype="int16", cycles=lstm_cycles_s16)
def lstm_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all time steps of a batch by one call."""
    layer = read_lstm(op, tensors)
    cell, parameters = cell_of(layer), (*layer.inputs, *layer.recurrent, *layer.biases)
    if any(tensor.data is None for tensor in parameters) or cell is None:
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
    sides = forward, back
    constants: dict[str, Table] = {
        "weights": np.concatenate([order_s16.matrix_weights(weights) for weights, _ in sides]),
        "scales": np.concatenate([scales.reshape(-1) for _, scales in sides]),
        "lines": curve_lines(),
        "shape": shape,
    }
    room = 4 * GATES * units + 4 * pieces(max(features, units), order_s16.PAIR)
    return lstm_kernel(layer, CFunction("ethosgen_dsp_lstm_s16", LSTM_S16, room), constants)


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
    scales = order_s16.channel_scales(biases, each, weights)
    return None if scales is None else (weights, scales)
