"""CMSIS-NN's unit tests of LSTM, as networks of one layer.

A test has the multipliers of its gates, each for the product of two scales: of the layer's input or
output, and of the gate's weights. The suite's tools made them of scales of float32, or of decimals
with six places; the scales of the cell and of the output follow from multipliers of their own.
"""

import math
from collections.abc import Sequence

import numpy as np

from ethosgen.frontend.tflite.identifier import FORMAT
from ethosgen.values.source import Source
from tests.suites.cmsis_nn_data import Array, TestData, quantized
from tests.suites.golden_tests import GoldenTest
from tests.support.networks import NetworkBuilder, Spec

GATES = ("input", "forget", "cell", "output")
"""In the order of TFLite's operands."""
_CODE = "UNIDIRECTIONAL_SEQUENCE_LSTM"
_GATE_SCALE = 2.0**-12
"""The scale of a gate's sum, before its curve."""
_PRODUCT = 2.0**-30
"""The scale of a product of two curves."""
_DECIMAL, _LARGEST = 1e-6, 1000
"""The step of decimal scales, and the largest one in steps."""
_ABSENT = -1


def lstm_of_integers(data: TestData) -> GoldenTest:
    """Return the test of a layer in int8 or int16."""
    net = NetworkBuilder(data.name)
    array = data.array("input_tensor")
    dtype = str(array.dtype)
    cell_scale = _PRODUCT / data.factor("INPUT_TO_CELL_MULTIPLIER", "INPUT_TO_CELL_SHIFT")
    out_scale = float(np.float32(_PRODUCT / data.factor("OUTPUT_MULTIPLIER", "OUTPUT_SHIFT")))
    in_scale, scales = _scales(_factors(data, "INPUT"))
    back = [factor / out_scale for factor in _factors(data, "HIDDEN")]
    x = net.input(sequence_shape(data, "INPUT"), dtype, in_scale, -data.number("INPUT_ZERO_POINT"))
    point = data.number("OUTPUT_ZERO_POINT")
    biases = [
        net.constant(data.array(f"{gate}_gate_bias"), None, float(np.float32(in_scale * scale)))
        for gate, scale in zip(GATES, scales, strict=True)
    ]
    state = Spec(state_shape(data), dtype, out_scale, point)
    cell = Spec(state_shape(data), "int16", float(np.float32(cell_scale)))
    y = add_lstm(
        data,
        net,
        [x, *_weights(data, net, "gate_input", scales), *_weights(data, net, "gate_hidden", back)],
        biases,
        (state, cell),
    )
    source = Source(FORMAT, f"{data.name}.tflite", net.build(y))
    return GoldenTest(data.kind, data.name, source, [([array], [data.array("output")])])


def add_lstm(
    data: TestData,
    net: NetworkBuilder,
    operands: Sequence[int],
    biases: Sequence[int],
    states: tuple[Spec, Spec],
) -> int:
    """Add the layer, whose states are those of the output and of the cell; return its output."""
    hidden, cell = states
    held = [net.variable(spec) for spec in states]
    none = [_ABSENT] * 3
    is_quantized = hidden.scale is not None
    between = [Spec((0,), "int16", _GATE_SCALE)] * len(GATES)
    between.append(Spec((0,), hidden.dtype, hidden.scale))
    out = Spec(sequence_shape(data, "HIDDEN"), hidden.dtype, hidden.scale, hidden.zero_point)
    clip = data.real("CELL_CLIP")
    (y,) = net.operator(
        _CODE,
        [*operands, *none, *biases, _ABSENT, _ABSENT, *held, *none, _ABSENT],
        [out],
        {
            "fused_activation_function": "TANH",
            "time_major": data.facts["TIME_MAJOR"] in ("true", "1"),
            "cell_clip": clip * cell.scale if isinstance(cell.scale, float) else clip,
        },
        intermediates=[net.tensor(spec) for spec in between] if is_quantized else [],
    )
    return y


def gate_shape(data: TestData, side: str) -> tuple[int, int]:
    """Return the shape of a gate's weights for the input or for the hidden state."""
    return data.number("HIDDEN_SIZE"), data.number(f"{side}_SIZE")


def _factors(data: TestData, side: str) -> list[float]:
    """Return the products of the scales of what comes in and of each gate's weights."""
    return [
        math.ldexp(data.factor(f"{stem}_MULTIPLIER", f"{stem}_SHIFT"), -12)
        for stem in (f"{gate.upper()}_GATE_{side}" for gate in GATES)
    ]


def _scales(factors: Sequence[float]) -> tuple[float, list[float]]:
    """Return scales of an input and of weights with these products."""
    for scale in (1.0, *(count * _DECIMAL for count in range(1, _LARGEST))):
        others = [factor / scale for factor in factors]
        whole = [float(np.float32(other)) for other in others]
        if scale < 1.0:
            whole = [round(other / _DECIMAL) * _DECIMAL for other in others]
        if np.array_equal(quantized(np.array(whole) * scale), quantized(np.array(factors))):
            return float(np.float32(scale)), whole
    raise ValueError(f"no scales have the products {factors}")


def _weights(data: TestData, net: NetworkBuilder, stem: str, scales: Sequence[float]) -> list[int]:
    shape = gate_shape(data, stem.rpartition("_")[2].upper())
    arrays: list[Array] = [data.array(f"{gate}_{stem}_weights").reshape(shape) for gate in GATES]
    return [
        net.constant(array, None, float(np.float32(scale)))
        for array, scale in zip(arrays, scales, strict=True)
    ]


def sequence_shape(data: TestData, side: str) -> tuple[int, int, int]:
    """Return the shape of the input or of the output, by time or by batch first."""
    batch, time = data.number("BATCH_SIZE"), data.number("TIME_STEPS")
    first = (time, batch) if data.facts["TIME_MAJOR"] in ("true", "1") else (batch, time)
    return *first, data.number(f"{side}_SIZE")


def state_shape(data: TestData) -> tuple[int, int]:
    """Return the shape of a state."""
    return data.number("BATCH_SIZE"), data.number("HIDDEN_SIZE")
