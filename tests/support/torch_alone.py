"""Layers of a quantized program alone, each with torch's own integers, so that nothing adds up."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.frontend.transfer import unpack
from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from ethosgen.values.network import Graph, Network, Operator, Tensor

Array = np.ndarray[Any, Any]
_SCRIPT = Path(__file__).with_name("torch_layers.py")

ROUNDINGS = (
    "TFLite and the NPU round sums and products twice, and interpolate LOGISTIC and TANH, which "
    "adds up over the time steps; alone, on PyTorch's own integers, no element differs by more "
    "than a step, and 0.3% by one; kernels that round once differ in none of 78,280 "
    "(tests/frontend/torch/test_torch_rounding.py)"
)
SUMS = (
    "TFLite rounds twice: a SUM whose scale shrinks by two to four takes fractions above a quarter "
    "away from zero, so one in four differs by a step, which layer norms scale up; alone, on "
    "PyTorch's own integers, no operator differs by more than a step, and where each rounds once, "
    "all outputs are PyTorch's (tests/frontend/torch/test_torch_attention.py)"
)
WIDE = (
    "an int16's step is 1/256 of an int8's: TFLite's multiplier of 16 bits for sums of 64 bits "
    "(FULLY_CONNECTED, BATCH_MATMUL: up to a tenth of the elements), SOFTMAX's tables (a tenth), "
    "SUM's second rounding (a quarter) show; alone, on PyTorch's own integers, no operator differs "
    "by more than a step; layer norms add them up (tests/frontend/torch/test_torch_attention.py)"
)
"""The causes of differences above one step from PyTorch."""


@dataclass(frozen=True)
class Layer:
    """Operators of the graph between tensors whose integers torch has, for each sample."""

    codes: tuple[str, ...]
    graph: Graph
    inputs: tuple[dict[str, Array], ...]
    expected: tuple[Array, ...]

    @property
    def network(self) -> Network:
        """The layer as a network of its own."""
        return Network("layer", (self.graph,))

    @property
    def output(self) -> Tensor:
        """The tensor that it makes."""
        return self.graph.tensors[self.graph.outputs[0]]


@dataclass(frozen=True)
class Recording:
    """A graph, and what torch computed for samples: its integers by the node's name."""

    graph: Graph
    scales: Mapping[str, tuple[float, int]]
    values: tuple[dict[str, Array], ...]

    def known(self) -> dict[int, list[Array]]:
        """Return torch's integers of all samples by the number of the tensor."""
        arrays_of = {}
        for tensor in self.graph.tensors:
            node = self._node(tensor)
            if node:
                arrays = [_in_order(values[node], tensor.shape) for values in self.values]
                if all(array.shape == tensor.shape for array in arrays):
                    arrays_of[tensor.index] = arrays
        return arrays_of

    def _node(self, tensor: Tensor) -> str:
        """Return the node whose result, rounded, a tensor is; "" for none."""
        about = tensor.quantization
        if about is None or tensor.data is not None or tensor.dtype not in ("int8", "int16"):
            return ""
        name, _, number = tensor.name.rpartition("_")
        for node in (tensor.name, name if number.isdigit() else ""):
            scale, zero = self.scales.get(node, (0.0, 0))
            if scale and np.isclose(scale, about.scale[0]) and zero == about.zero_point[0]:
                return node
        return ""

    def layers(self) -> Iterator[Layer]:
        """Yield the layers whose ends torch has in integers."""
        known = self.known()
        for index, expected in known.items():
            layer = _between(self.graph, index, known)
            if layer is None:
                continue
            operators, inputs = layer
            names = {i: self.graph.tensors[i].name for i in inputs}
            samples = tuple(
                {name: known[i][sample] for i, name in names.items()}
                for sample in range(len(self.values))
            )
            graph = Graph("main", self.graph.tensors, operators, inputs, (index,))
            yield Layer(
                tuple(operator.code for operator in operators), graph, samples, tuple(expected)
            )


def recorded(path: Path, samples: Sequence[Mapping[str, Array]]) -> Recording:
    """Return the graph of a quantized .pt2 file and torch's integers."""
    arrays = {f"{i} {name}": a for i, sample in enumerate(samples) for name, a in sample.items()}
    request = {"samples": len(samples)}
    files = {"given.pt2": path.read_bytes()}
    reply = run_script(ENVIRONMENTS["torch"], _SCRIPT, "record", request, arrays, files)
    held = {k.split(" ")[1]: a for k, a in reply.arrays.items() if k.startswith("constant ")}
    scales = {name: tuple(pair) for name, pair in reply.values["scales"].items()}
    values = tuple({n: reply.arrays[f"{i} {n}"] for n in scales} for i in range(len(samples)))
    return Recording(unpack(reply.values["graph"], held), scales, values)


def _in_order(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array with its channels last if the tensor has them there."""
    if array.ndim == 4 and array.transpose(0, 2, 3, 1).shape == shape:
        array = array.transpose(0, 2, 3, 1)
    return array


def _between(
    graph: Graph, index: int, known: Mapping[int, Any]
) -> tuple[tuple[Operator, ...], tuple[int, ...]] | None:
    """Return the operators that make a tensor from known ones, and those; None without such."""
    makers = {
        operator.outputs[0]: operator for operator in graph.operators if len(operator.outputs) == 1
    }
    inputs, numbers, waiting = set(), set(), [index]
    while waiting:
        tensor = waiting.pop()
        if tensor != index and tensor in known:
            inputs.add(tensor)
        elif graph.tensors[tensor].data is None:
            if tensor not in makers:
                return None
            numbers.add(makers[tensor].index)
            waiting += [i for i in makers[tensor].inputs if i >= 0]
    chosen = tuple(replace(graph.operators[n], index=i) for i, n in enumerate(sorted(numbers)))
    return (chosen, tuple(sorted(inputs))) if inputs else None


def once_rounded(layer: Layer, sample: Mapping[str, Array], between: bool = False) -> Array:
    """Compute a layer in float64, and round the result, to even at ties.

    `between` is as in `unrounded`.
    """
    return _rounded(layer.output, unrounded(layer, sample, between))


def unrounded(layer: Layer, sample: Mapping[str, Array], between: bool = False) -> Array:
    """Compute a layer in float64; return the result in steps, with the zero point.

    `between` rounds the tensors inside the layer too: those that torch's program has as well, and
    not those that TFLite's scales of functions add.
    """
    tensors = layer.graph.tensors
    reals = {t.index: _real(t, _held(t)) for t in tensors if t.data is not None}
    for index in layer.graph.inputs:
        reals[index] = _real(tensors[index], sample[tensors[index].name])
    for op in layer.graph.operators:
        computed = _COMPUTED[op.code](*(reals[i] for i in op.inputs if i >= 0), **_turned(op))
        target = tensors[op.outputs[0]]
        is_inside = target.index != layer.output.index
        if between and is_inside and target.quantization is not None:
            computed = _real(target, _rounded(target, _steps(target, computed)))
        reals[target.index] = computed
    return _steps(layer.output, reals[layer.output.index])


def carried(
    layers: Sequence[Layer], compute: Callable[[Layer, Sequence[Mapping[str, Array]]], list[Array]]
) -> list[Array]:
    """Compute layers one after the other, each from what those before made; return the last's."""
    held: list[dict[str, Array]] = [{} for _ in layers[0].inputs]
    for layer in layers:
        samples = [
            {name: mine.get(name, array) for name, array in sample.items()}
            for mine, sample in zip(held, layer.inputs, strict=True)
        ]
        outputs = compute(layer, samples)
        for mine, array in zip(held, outputs, strict=True):
            mine[layer.output.name] = array
    return outputs


def _turned(op: Operator) -> dict[str, bool]:
    names = ("adj_x", "adj_y") if op.code == "BATCH_MATMUL" else ()
    return {name: bool(op.options.get(name)) for name in names}


def _steps(tensor: Tensor, reals: Array) -> Array:
    about = tensor.quantization
    assert about is not None
    return np.asarray(reals / about.scale[0] + about.zero_point[0])


def _rounded(tensor: Tensor, steps: Array) -> Array:
    limits = np.iinfo(tensor.dtype)
    return np.asarray(np.clip(np.rint(steps), limits.min, limits.max).astype(tensor.dtype))


def _held(tensor: Tensor) -> Array:
    return np.frombuffer(tensor.data or b"", tensor.dtype).reshape(tensor.shape)


def _real(tensor: Tensor, array: Array) -> Array:
    about = tensor.quantization
    if about is None:
        return array
    shape = [1] * array.ndim
    shape[about.axis] = -1 if len(about.scale) > 1 else 1
    scale, zero = np.array(about.scale).reshape(shape), np.array(about.zero_point).reshape(shape)
    return np.asarray((array.astype(np.float64) - zero) * scale)


def _slice(x: Array, begin: Array, sizes: Array) -> Array:
    parts = tuple(slice(int(b), int(b + n)) for b, n in zip(begin, sizes, strict=True))
    return np.asarray(x[parts])


def _product(x: Array, y: Array, adj_x: bool, adj_y: bool) -> Array:
    return np.asarray((x.swapaxes(-1, -2) if adj_x else x) @ (y.swapaxes(-1, -2) if adj_y else y))


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


_COMPUTED: dict[str, Any] = {
    "RESHAPE": lambda x, shape: x.reshape(shape.astype(int)),
    "DEQUANTIZE": lambda x: x,
    "BATCH_MATMUL": _product,
    "SOFTMAX": _softmax,
    "GELU": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "RSQRT": lambda x: 1 / np.sqrt(x),
    "SUB": np.subtract,
    "SUM": lambda x, axes: x.sum(tuple(axes.astype(int).ravel()), keepdims=True),
    "QUANTIZE": lambda x: x,
    "SLICE": _slice,
    "ADD": np.add,
    "MUL": np.multiply,
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": np.tanh,
    "FULLY_CONNECTED": lambda x, weights, bias: x @ weights.T + bias,
}
