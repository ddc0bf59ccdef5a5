"""LSTM, GRU and RNN, step by step: ONNX Runtime's quantizer leaves them in float."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from ethosgen.frontend.onnx.converters import Convert, Node
from ethosgen.values.errors import UnsupportedError

CONVERTERS: dict[str, Convert] = {}
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": relax.op.sigmoid,
    "tanh": relax.op.tanh,
    "relu": relax.op.nn.relu,
}
_DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


@dataclass(frozen=True)
class _Cell:
    """One direction: its weights as [input, gates], and the functions of its gates."""

    node: Node
    weights: Any
    recurrent: Any
    input_bias: Any
    state_bias: Any
    functions: list[Callable[[Any], Any]]
    is_linear: bool

    def emit(self, expression: Any) -> Any:
        return self.node.builder.normalize(expression)

    def step(self, value: Any, state: Any, memory: Any) -> tuple[Any, Any]:
        """Return the next state, and memory if there is one."""
        kind = self.node.name
        product = self.emit(relax.op.matmul(value, self.weights))
        product = self.emit(relax.op.add(product, self.input_bias))
        if kind == "GRU":
            return self.gru(product, state), None
        product = self.joined(product, self.fed(state, self.recurrent, self.state_bias))
        if kind == "RNN":
            return self.emit(self.functions[0](product)), None
        return self.lstm(product, memory)

    def joined(self, first: Any, second: Any) -> Any:
        return self.emit(relax.op.add(first, second))

    def fed(self, state: Any, weights: Any, bias: Any) -> Any:
        product = self.emit(relax.op.matmul(state, weights))
        return self.emit(relax.op.add(product, bias))

    def times(self, first: Any, second: Any) -> Any:
        return self.emit(relax.op.multiply(first, second))

    def parts(self, value: Any, count: int) -> list[Any]:
        split = self.emit(relax.op.split(value, count, axis=1))
        return [self.emit(relax.TupleGetItem(split, number)) for number in range(count)]

    def lstm(self, product: Any, memory: Any) -> tuple[Any, Any]:
        gate, inner, outer = self.functions
        into, out, forget, cell = self.parts(product, 4)
        kept = self.times(self.emit(gate(forget)), memory)
        added = self.times(self.emit(gate(into)), self.emit(inner(cell)))
        memory = self.joined(kept, added)
        return self.times(self.emit(gate(out)), self.emit(outer(memory))), memory

    def gru(self, product: Any, state: Any) -> Any:
        gate, inner = self.functions
        update, reset, hidden = self.parts(product, 3)
        size = self.recurrent.shape[1] // 3
        cut = 2 * size
        fed = self.fed(state, _const(self.recurrent[:, :cut]), _const(self.state_bias[:cut]))
        fed_update, fed_reset = self.parts(fed, 2)
        z = self.emit(gate(self.joined(update, fed_update)))
        r = self.emit(gate(self.joined(reset, fed_reset)))
        weights, bias = _const(self.recurrent[:, cut:]), _const(self.state_bias[cut:])
        if self.is_linear:
            fed = self.times(r, self.fed(state, weights, bias))
        else:
            fed = self.fed(self.times(r, state), weights, bias)
        n = self.emit(inner(self.joined(hidden, fed)))
        change = self.times(z, self.emit(relax.op.subtract(state, n)))
        return self.joined(n, change)


def _const(array: Any) -> Any:
    return relax.const(np.ascontiguousarray(array, np.float32))


def _recurrent(node: Node) -> Any:
    _check(node)
    directions = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    backwards = directions[node.text("direction", "forward")]
    steps, batch, _ = node.shape()
    split = node.builder.normalize(relax.op.split(node.inputs[0], steps, axis=0))
    sequence = [
        node.builder.normalize(
            relax.op.squeeze(node.builder.normalize(relax.TupleGetItem(split, number)), [0])
        )
        for number in range(steps)
    ]
    if steps == 1:
        sequence = [node.builder.normalize(relax.op.squeeze(node.inputs[0], [0]))]
    runs = [_run(node, number, sequence, back) for number, back in enumerate(backwards)]
    normalize, op = node.builder.normalize, relax.op
    outputs = [normalize(op.stack([states[t] for states, _, _ in runs], 0)) for t in range(steps)]
    results = [normalize(op.stack(outputs, 0))]  # [step, direction, batch, size]
    results.append(normalize(op.stack([state for _, state, _ in runs], 0)))
    if node.name == "LSTM":
        results.append(normalize(op.stack([memory for _, _, memory in runs], 0)))
    assert batch > 0
    return relax.Tuple(results)


def _run(node: Node, number: int, sequence: list[Any], back: bool) -> tuple[list[Any], Any, Any]:
    """Run one direction; return its states in the order of time, the last state and memory."""
    cell = _cell(node, number)
    size = int(node.attributes["hidden_size"])
    batch = node.shape()[1]
    state, memory = (_initial(node, place, number, (batch, size)) for place in (5, 6))
    states = []
    for value in reversed(sequence) if back else sequence:
        state, memory = cell.step(value, state, memory)
        states.append(state)
    return (states[::-1] if back else states), state, memory


def _initial(node: Node, place: int, number: int, shape: tuple[int, int]) -> Any:
    state = node.operand(place) if place == 5 or node.name == "LSTM" else None
    if state is None:
        return relax.const(np.zeros(shape, np.float32))
    taken = relax.op.take(state, relax.const(np.array([number], np.int64)), 0)
    return node.builder.normalize(relax.op.reshape(node.builder.normalize(taken), shape))


def _check(node: Node) -> None:
    if node.attributes.get("layout"):
        raise UnsupportedError("it has the layout 1, batches first")
    if node.attributes.get("clip") or node.attributes.get("input_forget"):
        raise UnsupportedError("it has a clip or joined gates")
    if node.operand(4) is not None:
        lengths = node.array(4)
        if np.any(lengths != node.shape()[0]):
            raise UnsupportedError("its sequences have different lengths")
    if node.name == "LSTM" and node.operand(7) is not None and np.any(node.array(7)):
        raise UnsupportedError("it has peepholes")


def _cell(node: Node, number: int) -> _Cell:
    gates = _GATES[node.name]
    weights, recurrent = (node.array(place)[number] for place in (1, 2))
    biases = node.array(3)
    bias = np.zeros(2 * weights.shape[0], np.float32) if biases is None else biases[number]
    names = [
        name.decode() if isinstance(name, bytes) else name
        for name in node.attributes.get("activations", [])
    ]
    count = len(_DEFAULTS[node.name])
    names = names[number * count : (number + 1) * count] or _DEFAULTS[node.name]
    unknown = [name for name in names if name.lower() not in _FUNCTIONS]
    if unknown:
        raise UnsupportedError(f"it has the activation {unknown[0]}")
    half = weights.shape[0]
    assert half % gates == 0
    is_gru = node.name == "GRU"
    state_bias, matrix = bias[half:], recurrent.T
    return _Cell(
        node,
        _const(weights.T),
        matrix if is_gru else _const(matrix),
        _const(bias[:half]),
        state_bias if is_gru else _const(state_bias),
        [_FUNCTIONS[name.lower()] for name in names],
        bool(node.attributes.get("linear_before_reset")),
    )


CONVERTERS.update(dict.fromkeys(_GATES, _recurrent))
