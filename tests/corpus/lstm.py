"""16-bit UNIDIRECTIONAL_SEQUENCE_LSTM in numpy, with the NPU's factor for the hidden state.

It follows TFLite Micro's kernel (tensorflow/lite/micro/kernels/lstm_eval.cc) except for one factor:
that of tanh(cell) * output gate, which Vela computes in float and TFLite Micro in double.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethosgen.values.network import Tensor
from tests.corpus.rounding import limited, rescaled, rescaled_wide
from tests.corpus.site import Array, OperatorSite, Values, scale_of

_GATE = 2.0**-12
_CURVE = 2.0**-15
_WIDE = "int16"
_ENTRIES = 256
_LAST = _ENTRIES - 1


def with_factor_in_float(
    site: OperatorSite, read: Sequence[Values], right: Sequence[Values]
) -> list[list[Array]] | None:
    """Return the outputs of consecutive samples; None if this does not model TFLite Micro's kernel.

    To find out, the same arithmetic is run with the factor in double and compared with TFLite
    Micro's outputs.
    """
    hidden = scale_of(site.output)
    double = _CURVE * _CURVE / hidden
    single = float(np.float32(_CURVE * _CURVE) / np.float32(hidden))
    layer = _read(site)
    known = _run(layer, read, double)
    if not all(np.array_equal(a, b[0]) for a, b in zip(known, right, strict=True)):
        return None
    return [[out] for out in _run(layer, read, single)]


@dataclass(frozen=True)
class _Layer:
    """An LSTM without the features that TFLite Micro lacks; one matrix for each gate."""

    source: Tensor
    weights: list[Tensor]
    recurrent: list[Tensor]
    biases: list[Tensor]
    hidden: Tensor
    cell: Tensor
    output: Tensor
    by_time: bool
    clip: float

    def bound(self) -> int:
        """Return the largest cell state, from the option cell_clip."""
        return int(min(float(np.float32(self.clip)) / scale_of(self.cell), np.iinfo(_WIDE).max))

    def gate(self, index: int, step: Array, state: Array) -> Array:
        """Return a gate's two sums, each rescaled to 16 bits, then added."""
        w, r = self.weights[index], self.recurrent[index]
        first = step @ w.array().astype(np.int64).T + self.biases[index].array()
        second = state @ r.array().astype(np.int64).T
        total = sum(
            limited(rescaled_wide(value, _product(x, by) / _GATE), _WIDE)
            for value, x, by in ((first, self.source, w), (second, self.hidden, r))
        )
        return limited(np.asarray(total), _WIDE)


def _read(site: OperatorSite) -> _Layer:
    t = [site.graph.tensors[i] for i in site.operator.inputs]
    options = site.operator.options
    return _Layer(
        t[0], t[1:5], t[5:9], t[12:16], t[18], t[19], site.output,
        bool(options.get("time_major", False)), float(options.get("cell_clip", 0.0)),
    )  # fmt: skip


def _product(x: Tensor, y: Tensor) -> float:
    return float(np.float32(scale_of(x)) * np.float32(scale_of(y)))


def _run(layer: _Layer, read: Sequence[Values], factor: float) -> list[Array]:
    """Run samples one after the other, and keep the states between them."""
    hidden, cell = (np.zeros(t.shape, np.int64) for t in (layer.hidden, layer.cell))
    outputs = []
    for x, *_ in read:
        steps = []
        for step in x.astype(np.int64).swapaxes(0, 0 if layer.by_time else 1):
            enter, forget, new, out = (
                _curve(layer.gate(g, step, hidden) * 3, tanh=g == 2) for g in range(4)
            )
            kept = limited(rescaled(forget * cell, _CURVE), _WIDE)
            added = rescaled(enter * new, _CURVE * _CURVE / scale_of(layer.cell))
            cell = limited(kept + limited(added, _WIDE), _WIDE)
            if layer.clip:
                cell = np.clip(cell, -layer.bound(), layer.bound())
            bent = _curve(_argument(cell, scale_of(layer.cell)), tanh=True)
            hidden = limited(rescaled(bent * out, factor), _WIDE)
            steps.append(hidden)
        outputs.append(np.stack(steps, 0 if layer.by_time else 1).astype(_WIDE))
    return outputs


def _argument(cell: Array, scale: float) -> Array:
    """Convert a cell state, whose scale is a power of two, to units of 1 / (3 * 4096)."""
    left = 12 + round(math.log2(scale))
    return cell * 3 << left if left >= 0 else cell * 3 + (1 << -left >> 1) >> -left


def _curve(x: Array, tanh: bool) -> Array:
    """Return LOGISTIC or TANH of x / (3 * 4096) in units of 2**-15, interpolated in a table.

    tanh(x) is 2 sigmoid(2x) - 1 (tensorflow/lite/kernels/internal/reference/integer_ops/tanh.h).
    """
    bits, table = (8 if tanh else 9), _table()
    distance = np.abs(x)
    row = np.minimum(distance >> bits, _LAST - 1)
    left = table[row]
    between = (left << bits) + (distance & (1 << bits) - 1) * (table[row + 1] - left)
    most = 0xFFFF << 8 if tanh else 0x7FFF << 10
    value = np.where(distance >> bits >= _LAST, most, between)
    if tanh:
        return np.where(x < 0, (1 << 23) - value + (1 << 7) - 1, value - (1 << 23) + (1 << 7)) >> 8
    return np.where(x < 0, (1 << 25) - value + (1 << 9) - 1, value + (1 << 9)) >> 10


def _table() -> Array:
    """Return 65536 * sigmoid(i / 24), corrected by half of the error of linear interpolation."""
    curve = 1 / (1 + np.exp(-np.arange(_ENTRIES) / 24))
    bend = curve * (1 - curve) * (1 - 2 * curve) / 24**2
    table = np.round(65536 * (curve - bend / 16)).astype(np.int64)
    table[-1] = 65535
    return np.asarray(table)
