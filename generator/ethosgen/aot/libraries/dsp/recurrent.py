"""Layers of int8 with state: SVDF with a state of int16, and UNIDIRECTIONAL_SEQUENCE_LSTM."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.dsp import order
from ethosgen.aot.libraries.dsp.matrix import MATRIX, whole_steps
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.libraries.framework.recurrent import RowSums, lstm_of, svdf_of
from ethosgen.aot.operators.recurrent import read_lstm, read_svdf
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

MOST_PLACES = 508
"""Places of a row of which a channel's sum fits in 24 bits, whatever the weights."""


def _sums(rows: int, steps: int) -> float:
    """Return the estimated cycles of the sums of a row with `rows` rows of weights."""
    return -(-rows // 2) * (28 + 7.2 * steps)


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
