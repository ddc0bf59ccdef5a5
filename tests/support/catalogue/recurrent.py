"""Layers with state for tests: UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF in every type."""

import math

import numpy as np

from tests.support.networks import NetworkBuilder, Spec

ABSENT = -1
GATES = 4


def lstm(
    net: NetworkBuilder,
    x: int,
    units: int,
    *,
    by_time: bool = False,
    cell_clip: float = 0.0,
    zero_point: int = 3,
    cell_power: int = 11,
) -> int:
    """Add an LSTM over x (batch, time, features), or (time, batch, features) `by_time`."""
    shape, dtype = net.tensors[x].shape, net.tensors[x].dtype
    batch = shape[1 if by_time else 0]
    state_shape = (batch, units)
    if dtype == "float32":
        hidden, cell = Spec(state_shape, dtype), Spec(state_shape, dtype)
    else:
        point = zero_point if dtype == "int8" else 0
        hidden = Spec(state_shape, dtype, 1 / (128 if dtype == "int8" else 32768), point)
        cell = Spec(state_shape, "int16", 2.0**-cell_power)
    inputs = [_gate_weights(net, units, shape[2], dtype) for _ in range(GATES)]
    recurrent = [_gate_weights(net, units, units, dtype) for _ in range(GATES)]
    biases = [_gate_bias(net, x, weights, units, dtype) for weights in inputs]
    names = (f"hidden_{len(net.tensors)}", f"cell_{len(net.tensors)}")
    states = [
        net.variable(_named(spec, name)) for spec, name in zip((hidden, cell), names, strict=True)
    ]
    absent = [ABSENT] * 3
    operands = [x, *inputs, *recurrent, *absent, *biases, ABSENT, ABSENT, *states, *absent, ABSENT]
    empty = Spec((0,), "int16", 2.0**-12, 0)
    gates = [] if dtype == "float32" else [net.tensor(empty) for _ in range(GATES)]
    gates += [] if dtype == "float32" else [net.tensor(Spec((0,), dtype, hidden.scale, 0))]
    out = Spec((*shape[:2], units), dtype, hidden.scale, hidden.zero_point)
    options = {"fused_activation_function": "TANH", "time_major": by_time, "cell_clip": cell_clip}
    code = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    return net.operator(code, operands, [out], options, intermediates=gates)[0]


def svdf(
    net: NetworkBuilder,
    x: int,
    units: int,
    memory: int,
    *,
    rank: int = 1,
    state: str = "int16",
    zero_point: int = 0,
    activation: str = "RELU",
) -> int:
    """Add an SVDF over x (batch, features), with a state of `memory` steps."""
    batch, features = net.tensors[x].shape
    filters = units * rank
    if net.tensors[x].dtype == "float32":
        values = [
            net.random.normal(0, 0.5, size).astype(np.float32)
            for size in ((filters, features), (filters, memory), (units,))
        ]
        feature, time, bias = (net.constant(value) for value in values)
        spec, out = Spec((batch, filters * memory), "float32"), Spec((batch, units), "float32")
    else:
        scale = net.tensors[x].scale
        assert isinstance(scale, float)
        held = scale * 0.01 * math.sqrt(features) * 73 * 73 / (80 if state == "int8" else 8000)
        feature = net.constant(net.random_integers((filters, features)), scale=0.01)
        time = net.constant(net.random_integers((filters, memory), state), scale=1e-3)
        bias = net.constant(net.random.integers(-500, 500, units), "int32", held * 1e-3)
        spec = Spec((batch, filters * memory), state, held, zero_point)
        wide = (80 if state == "int8" else 8000) * (73 if state == "int8" else 18000)
        step = held * 1e-3 * wide * math.sqrt(memory * rank) / 60
        out = Spec((batch, units), "int8", step, -20)
    held_state = net.variable(_named(spec, f"activation_{len(net.tensors)}"))
    options = {"rank": rank, "fused_activation_function": activation}
    return net.operator("SVDF", [x, feature, time, bias, held_state], [out], options)[0]


def _named(spec: Spec, name: str) -> Spec:
    return Spec(spec.shape, spec.dtype, spec.scale, spec.zero_point, name=name)


def _gate_weights(net: NetworkBuilder, units: int, columns: int, dtype: str) -> int:
    if dtype == "float32":
        values = net.random.normal(0, 1 / math.sqrt(columns), (units, columns))
        return net.constant(values.astype(np.float32))
    scale = float(np.float32(net.random.uniform(0.5, 3.0) / (60 * math.sqrt(columns))))
    return net.constant(net.random_integers((units, columns)), "int8", scale)


def _gate_bias(net: NetworkBuilder, x: int, weights: int, units: int, dtype: str) -> int:
    if dtype == "float32":
        return net.constant(net.random.normal(0, 0.3, units).astype(np.float32))
    source, factor = net.tensors[x].scale, net.tensors[weights].scale
    assert isinstance(source, float) and isinstance(factor, float)
    values = net.random.integers(-3000, 3000, units)
    return net.constant(values, "int64" if dtype == "int16" else "int32", source * factor)
