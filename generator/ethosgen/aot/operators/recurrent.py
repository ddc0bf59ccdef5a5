"""Layers with state: SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM, as in TFLite Micro's kernels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.operators.activation import interpolate, sigmoid, sigmoid_table
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, call, dtype_of, int32, real
from ethosgen.aot.tir.quantization import (
    Multiplier,
    clamp,
    limits,
    quantize_multiplier,
    rescale_int64,
    scale_of,
    shorten,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Operator, Tensor

INPUTS = 24
"""The number of inputs of UNIDIRECTIONAL_SEQUENCE_LSTM."""
GATES = ("input", "forget", "cell", "output")
"""The gates, in the order of the operator's weights."""
VARIANTS = {"peepholes": (9, 12), "a projection": (16, 18), "layer normalization": (20, 24)}
"""The input positions of variants that TFLite Micro does not support."""
GATE_SCALE = 2.0**-12
"""The scale of a gate before its activation function; after it, the scale is CURVE_SCALE."""
CURVE_SCALE = 2.0**-15


# ---- SVDF ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Svdf:
    """The tensors of an SVDF, as svdf_common.cc names them."""

    source: Tensor
    features: Tensor
    time: Tensor
    bias: Tensor
    state: Tensor
    target: Tensor
    rank: int

    @property
    def memory(self) -> int:
        """Number of time steps in the state."""
        return self.time.shape[1]


def read_svdf(op: Operator, tensors: Sequence[Tensor]) -> Svdf:
    """Return the tensors of an SVDF; UnsupportedError if TFLite Micro does not compute it."""
    if len(op.inputs) != 5 or ABSENT in op.inputs:
        raise UnsupportedError("it has no bias, which TFLite Micro requires")
    source, features, time, bias, state, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    rank = int(op.options.get("rank", 1))
    layer = Svdf(source, features, time, bias, state, target, rank)
    filters, depth = layer.features.shape
    batch = layer.source.shape[0]
    units = filters // max(layer.rank, 1)
    shapes = {
        "input": (layer.source.shape, (batch, depth)),
        "weights of time": (layer.time.shape, (filters, layer.memory)),
        "bias": (layer.bias.shape, (units,)),
        "state": (layer.state.shape, (batch, filters * layer.memory)),
        "output": (layer.target.shape, (batch, units)),
    }
    for name, (have, want) in shapes.items():
        if have != want or layer.rank < 1 or filters % layer.rank:
            raise UnsupportedError(f"the shape {list(have)} of its {name} is not {list(want)}")
    return layer


@operator("SVDF", dtypes=("int8",))
def svdf_int8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute int8 with an int8 or int16 state; TFLite Micro ignores the fused activation."""
    layer = read_svdf(op, tensors)
    state_dtype = layer.state.dtype
    types = [t.dtype for t in (layer.features, layer.time, layer.bias, layer.target)]
    if state_dtype not in ("int8", "int16") or types != ["int8", state_dtype, "int32", "int8"]:
        raise UnsupportedError(f"its types {', '.join([*types, state_dtype])} are not covered")
    held = scale_of(layer.state)
    into = quantize_multiplier(scale_of(layer.source) * scale_of(layer.features) / held)
    out = quantize_multiplier(held * scale_of(layer.time) / scale_of(layer.target))
    point, start = zero_point_of(layer.state), zero_point_of(layer.source)

    def weigh(x: Any, weight: Any) -> Any:
        return int32(weight) * (int32(x) - start)

    def keep(nest: Nest, total: Any) -> Any:
        return clamp(nest.rescale(total, into), *limits(state_dtype)) + point

    def recall(value: Any, weight: Any) -> Any:
        return int32(weight) * (int32(value) - point)

    def finish(nest: Nest, total: Any) -> Any:
        return clamp(nest.rescale(total, out, zero_point_of(layer.target)), *limits("int8"))

    return _svdf(layer, int32(0), weigh, keep, recall, finish)


@operator("SVDF", dtypes=("float32",))
def svdf(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute float32, with the fused activation.

    TFLite Micro compares with the upper bound and then with the lower one, so that NaN becomes a
    bound (micro/kernels/activation_utils.h).
    """
    layer = read_svdf(op, tensors)
    if {t.dtype for t in (layer.features, layer.time, layer.bias, layer.state)} != {"float32"}:
        raise UnsupportedError("it mixes float32 with other types; only float32 is covered")

    def product(value: Any, weight: Any) -> Any:
        return weight * value

    return _svdf(layer, real(0.0), product, lambda _, total: total, product, svdf_finish(op))


def svdf_finish(op: Operator) -> Callable[[Nest, Any], Any]:
    """Return a function that applies the activation of a float32 SVDF to a sum."""
    activation = str(op.options.get("fused_activation_function", "NONE"))
    bounds: dict[str, tuple[float, float | None] | None] = {
        "NONE": None,
        "RELU": (0.0, None),
        "RELU6": (0.0, 6.0),
        "RELU_N1_TO_1": (-1.0, 1.0),
    }
    if activation not in bounds:
        raise UnsupportedError(f"the fused activation {activation} is not covered")

    def finish(nest: Nest, total: Any) -> Any:
        chosen = bounds[activation]
        if chosen is None:
            return total
        low, high = chosen
        value = nest.let("total_of_unit", total)
        if high is not None:
            value = nest.let("lowered", tirx.Select(value < real(high), value, real(high)))
        return tirx.Select(value > real(low), value, real(low))

    return finish


def _svdf(
    layer: Svdf,
    zero: Any,
    weigh: Callable[[Any, Any], Any],
    keep: Callable[[Nest, Any], Any],
    recall: Callable[[Any, Any], Any],
    finish: Callable[[Nest, Any], Any],
) -> Kernel:
    """Emit the loops: shift each filter's state by one time step, then sum it for its unit.

    TFLite Micro does each of the two for all filters; the filters' states are independent.
    """
    nest = Nest()
    batch, depth = layer.source.shape
    filters, memory = layer.time.shape
    x, features = nest.read("input", layer.source), nest.read("feature_weights", layer.features)
    time, bias = nest.read("time_weights", layer.time), nest.read("bias", layer.bias)
    output = nest.write("output", layer.target)
    state = nest.variable("state", layer.state, (batch, filters, memory))
    with nest.loop("n", batch) as n, nest.loop("unit", filters // layer.rank) as unit:
        total = nest.local("total", bias[unit])
        with nest.loop("r", layer.rank) as r:
            row = nest.let("row", int32(0) + unit * layer.rank + r)
            with nest.loop("step", memory - 1) as step:
                nest.store(state, (n, row, step), state[n, row, step + 1])
            now = nest.local("now", zero)
            with nest.loop("i", depth) as i:
                nest.store(now, (0,), _sum(now[0], weigh(x[n, i], features[row, i])))
            nest.store(state, (n, row, memory - 1), keep(nest, now[0]))
            recalled = nest.local("recalled", zero)
            with nest.loop("step", memory) as step:
                term = recall(state[n, row, step], time[row, step])
                nest.store(recalled, (0,), _sum(recalled[0], term))
            nest.store(total, (0,), _sum(total[0], recalled[0]))
        nest.store(output, (n, unit), finish(nest, total[0]))
    return nest.kernel()


def _sum(a: Any, b: Any) -> Any:
    """Return a + b; integers wrap, as TFLite Micro's do in practice (int16 products can)."""
    if dtype_of(a) == "float32":
        return a + b
    return tirx.Cast("int32", tirx.Cast("int64", a) + tirx.Cast("int64", b))


# ---- UNIDIRECTIONAL_SEQUENCE_LSTM ----------------------------------------------------------------


@dataclass(frozen=True)
class Lstm:
    """The tensors of an LSTM; `inputs`, `recurrent` and `biases` have one for each of GATES."""

    source: Tensor
    inputs: tuple[Tensor, ...]
    recurrent: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    hidden: Tensor
    cell: Tensor
    target: Tensor
    by_time: bool
    cell_clip: float

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Return batches, time steps, features and units."""
        first, second, features = self.source.shape
        batch, steps = (second, first) if self.by_time else (first, second)
        return batch, steps, features, self.target.shape[-1]


def read_lstm(op: Operator, tensors: Sequence[Tensor]) -> Lstm:
    """Return the tensors of an LSTM; UnsupportedError if TFLite Micro does not compute it."""
    inputs = op.inputs
    needed = (*range(9), *range(12, 16), 18, 19)
    if len(inputs) != INPUTS:
        raise UnsupportedError(f"it has {counted(len(inputs), 'input')} instead of {INPUTS}")
    for variant, (first, end) in VARIANTS.items():
        if any(i != ABSENT for i in inputs[first:end]):
            raise UnsupportedError(f"it has {variant}, which TFLite Micro does not compute")
    if any(inputs[i] == ABSENT for i in needed):
        raise UnsupportedError("it lacks weights, a bias or a state (its gates may be coupled)")
    if op.options.get("fused_activation_function") != "TANH":
        raise UnsupportedError("its activation is not TANH")
    layer = Lstm(
        tensors[inputs[0]],
        tuple(tensors[i] for i in inputs[1:5]),
        tuple(tensors[i] for i in inputs[5:9]),
        tuple(tensors[i] for i in inputs[12:16]),
        tensors[inputs[18]],
        tensors[inputs[19]],
        tensors[op.outputs[0]],
        bool(op.options.get("time_major", False)),
        float(op.options.get("cell_clip", 0.0)),
    )
    _check_lstm(layer)
    return layer


def _check_lstm(layer: Lstm) -> None:
    if len(layer.source.shape) != 3 or len(layer.target.shape) != 3:
        raise UnsupportedError("its input and output must have three dimensions")
    batch, _, features, units = layer.sizes
    kind = layer.source.dtype
    weight, bias, cell = {
        "int8": ("int8", "int32", "int16"),
        "int16": ("int8", "int64", "int16"),
        "float32": ("float32", "float32", "float32"),
    }[kind]
    wanted: list[tuple[Tensor, tuple[int, ...], str]]
    wanted = [(t, (units, features), weight) for t in layer.inputs]
    wanted += [(t, (units, units), weight) for t in layer.recurrent]
    wanted += [(t, (units,), bias) for t in layer.biases]
    wanted += [(layer.target, (*layer.source.shape[:2], units), kind)]
    for tensor, shape, dtype in wanted:
        if tensor.shape != shape or tensor.dtype != dtype:
            raise UnsupportedError(
                f"'{tensor.name}' is {tensor.dtype} {list(tensor.shape)} instead of {dtype} "
                f"{list(shape)}"
            )
    for tensor, dtype in ((layer.hidden, kind), (layer.cell, cell)):
        if tensor.elements != batch * units or tensor.dtype != dtype:
            raise UnsupportedError(f"the state '{tensor.name}' is not {batch * units} of {dtype}")


def _hold(nest: Nest, name: str, value: Any) -> Any:
    """Bind a value that TVM's analyses cannot look through.

    FlattenBuffer and RemoveNoOp follow each use of a bound variable to its definition, which takes
    exponential time for a chain as long as an LSTM cell's.
    """
    return nest.local(name, value)[0]


@dataclass(frozen=True)
class _Views:
    """The buffers of an LSTM's kernel."""

    x: Any
    inputs: tuple[Any, ...]
    recurrent: tuple[Any, ...]
    biases: tuple[Any, ...]
    output: Any
    hidden: Any
    cell: Any


def _declare(nest: Nest, layer: Lstm) -> _Views:
    batch, _, _, units = layer.sizes
    return _Views(
        nest.read("input", layer.source),
        tuple(nest.read(f"{g}_weights", t) for g, t in zip(GATES, layer.inputs, strict=True)),
        tuple(nest.read(f"{g}_recurrent", t) for g, t in zip(GATES, layer.recurrent, strict=True)),
        tuple(nest.read(f"{g}_bias", t) for g, t in zip(GATES, layer.biases, strict=True)),
        nest.write("output", layer.target),
        nest.variable("hidden_state", layer.hidden, (batch, units)),
        nest.variable("cell_state", layer.cell, (batch, units)),
    )


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("int8", "int16"))
def lstm_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute int8 or int16 with int8 weights and an int16 cell state (lstm_eval.cc)."""
    layer = read_lstm(op, tensors)
    forget, new, out = cell_multipliers(layer)
    factor, shift = cell_shift(scale_of(layer.cell))
    nest = Nest()
    views = _declare(nest, layer)
    curve = nest.table("sigmoid", sigmoid_table())

    def update(n: Any, unit: Any, gates: dict[str, Any]) -> Any:
        def curved(name: str) -> Any:
            code = "TANH" if name == "cell" else "LOGISTIC"
            return _hold(nest, f"{name}_gate", interpolate(nest, code, gates[name] * 3, curve))

        kept = nest.rescale(curved("forget") * int32(views.cell[n, unit]), forget)
        kept = _hold(nest, "kept", clamp(kept, *limits("int16")))
        added = nest.rescale(curved("input") * curved("cell"), new)
        total = clamp(kept + clamp(added, *limits("int16")), *cell_clip(layer))
        value = _hold(nest, "value", total)
        nest.store(views.cell, (n, unit), value)
        argument = _hold(nest, "argument", (value * factor + (1 << shift >> 1)) >> shift)
        bent = _hold(nest, "bent", interpolate(nest, "TANH", argument, curve))
        hidden = nest.rescale(bent * curved("output"), out, zero_point_of(layer.hidden))
        return clamp(hidden, *limits(layer.hidden.dtype))

    gate = _integer_gate(layer)
    return _lstm(nest, layer, views, lambda g, place: gate(nest, views, g, place), update)


def cell_multipliers(layer: Lstm) -> tuple[Multiplier, Multiplier, Multiplier]:
    """Return the multipliers of the kept state, of the addend, and of the output."""
    cell, hidden = scale_of(layer.cell), scale_of(layer.hidden)
    return (
        quantize_multiplier(CURVE_SCALE * cell / cell),
        quantize_multiplier(CURVE_SCALE * CURVE_SCALE / cell),
        quantize_multiplier(CURVE_SCALE * CURVE_SCALE / hidden),
    )


def cell_clip(layer: Lstm) -> tuple[int, int]:
    """Return the bounds of an int16 cell state."""
    if layer.cell_clip <= 0:
        return limits("int16")
    clip = int(min(float(np.float32(layer.cell_clip)) / scale_of(layer.cell), 32767.0))
    return -clip, clip


def gate_multiplier(x: Tensor, weights: Tensor) -> Multiplier:
    """Return the multiplier of a gate's sums; UnsupportedError if the weights have a zero point."""
    if zero_point_of(weights):
        raise UnsupportedError(f"the weights '{weights.name}' have a zero point other than 0")
    return quantize_multiplier(scale_of(x) * scale_of(weights) / GATE_SCALE)


def cell_shift(scale: float) -> tuple[int, int]:
    """Return the factor and shift that convert the cell state to units of 1 / (3 * 4096) (Tanh)."""
    logarithm = float(np.log(np.float32(scale)) * (np.float32(1) / np.log(np.float32(2))))
    left = 12 + round(logarithm)
    most = 31  # of an int32; a shift of far fewer bits leaves nothing of a cell state
    return (3, min(-left, most)) if left < 0 else (3 << left, 0)


def _integer_gate(layer: Lstm) -> Callable[[Nest, _Views, int, tuple[Any, ...]], Any]:
    """Return a function that emits one unit of a gate: two sums rescaled to 16 bits and added."""

    into = [gate_multiplier(layer.source, weights) for weights in layer.inputs]
    back = [gate_multiplier(layer.hidden, weights) for weights in layer.recurrent]
    kind = layer.source.dtype
    sum_dtype = "int64" if kind == "int16" else "int32"
    _, _, features, units = layer.sizes

    def dot(nest: Nest, name: str, x: Callable[[Any], Any], weight: Any, size: int) -> Any:
        total = nest.local(name, tirx.const(0, sum_dtype))
        with nest.loop("i", size) as i:
            term = int32(weight(i)) * x(i)
            term = tirx.Cast("int64", term) if sum_dtype == "int64" else term
            nest.store(total, (0,), total[0] + term)
        return total[0]

    def rescale(nest: Nest, total: Any, by: Multiplier) -> Any:
        has_64_bits = sum_dtype == "int64"
        scaled = rescale_int64(total, *shorten(by)) if has_64_bits else nest.rescale(total, by)
        return clamp(scaled, *limits("int16"))

    def gate(nest: Nest, views: _Views, g: int, place: tuple[Any, ...]) -> Any:
        n, row, unit = place
        name, before = GATES[g], zero_point_of(layer.source)
        after = zero_point_of(layer.hidden)
        first = dot(
            nest, f"{name}_sum", lambda i: int32(views.x[(*row, i)]) - before,
            lambda i: views.inputs[g][unit, i], features,
        )  # fmt: skip
        forward = _hold(
            nest, f"{name}_forward", rescale(nest, first + views.biases[g][unit], into[g])
        )
        second = dot(
            nest, f"{name}_back", lambda i: int32(views.hidden[n, i]) - after,
            lambda i: views.recurrent[g][unit, i], units,
        )  # fmt: skip
        total = forward + rescale(nest, second, back[g])
        return _hold(nest, f"{name}_value", clamp(total, *limits("int16")))

    return gate


@operator("UNIDIRECTIONAL_SEQUENCE_LSTM", dtypes=("float32",), ulp=LIBRARY_ULP)
def lstm(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """float32."""
    layer = read_lstm(op, tensors)
    _, _, features, units = layer.sizes
    nest = Nest()
    views = _declare(nest, layer)

    def gate(g: int, place: tuple[Any, ...]) -> Any:
        n, row, unit = place
        first = nest.local(f"{GATES[g]}_sum", real(0.0))
        with nest.loop("i", features) as i:
            nest.store(first, (0,), first[0] + views.x[(*row, i)] * views.inputs[g][unit, i])
        second = nest.local(f"{GATES[g]}_back", real(0.0))
        with nest.loop("i", units) as i:
            term = views.hidden[n, i] * views.recurrent[g][unit, i]
            nest.store(second, (0,), second[0] + term)
        return _hold(nest, f"{GATES[g]}_value", (first[0] + views.biases[g][unit]) + second[0])

    return _lstm(nest, layer, views, gate, lstm_update(nest, layer, views.cell))


def lstm_update(nest: Nest, layer: Lstm, cell: Any) -> Callable[[Any, Any, dict[str, Any]], Any]:
    """Return a function that updates a unit's float32 state and returns its output."""

    def update(n: Any, unit: Any, gates: dict[str, Any]) -> Any:
        def curved(name: str) -> Any:
            value = gates[name]
            bent = call("tanhf", value) if name == "cell" else sigmoid(nest, value)
            return _hold(nest, f"{name}_gate", bent)

        kept = _hold(nest, "kept", curved("forget") * cell[n, unit])
        total = kept + curved("input") * curved("cell")
        if layer.cell_clip > 0:
            clip = float(np.float32(layer.cell_clip))
            lowered = _hold(nest, "lowered", tirx.min(real(clip), total))
            total = tirx.max(lowered, real(-clip))
        value = _hold(nest, "value", total)
        nest.store(cell, (n, unit), value)
        return call("tanhf", value) * curved("output")

    return update


def _lstm(
    nest: Nest,
    layer: Lstm,
    views: _Views,
    gate: Callable[[int, tuple[Any, ...]], Any],
    update: Callable[[Any, Any, dict[str, Any]], Any],
) -> Kernel:
    """Emit the loops: compute every unit of a step from the old hidden state, then update it.

    The step's output holds the new hidden state until all units have read the old one. Batches are
    independent, so they may be computed in any order.
    """
    batch, steps, _, units = layer.sizes
    with nest.loop("n", batch) as n, nest.loop("t", steps) as t:
        row = (t, n) if layer.by_time else (n, t)
        with nest.loop("unit", units) as unit:
            gates = {name: gate(g, (n, row, unit)) for g, name in enumerate(GATES)}
            nest.store(views.output, (*row, unit), update(n, unit, gates))
        nest.copy(views.hidden, (n, 0), views.output, (*row, 0), units)
    return nest.kernel()
