"""The values that each input of a network accepts, as far as its operators define them.

An int32 input that indexes a table must be within the table: TFLite Micro refuses other values, or
reads past the table. The same applies to the start of a slice and to the counter of a loop.
RSQRT of integers ends an inference at the first negative number, a division at a divisor of 0, and
POW of integers at a negative exponent.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor

Array = np.ndarray[Any, Any]

LOOPS = 16
"""Largest magnitude of an integer input of a WHILE, which could otherwise count for hours."""

_FLOAT_REACH = 3.0
"""Float inputs are within -3 and 3 by default, like data with a standard deviation of 1."""

_LEAST_DIVISOR = 0.25
_MOST_EXPONENT = 10
"""Largest exponent of an integer POW if the base is not a constant: 8 to the power of 10 fits."""

_MOST_SIZE = 100
"""Largest value of an input that is the size of a dimension."""

_MOST_INT4 = 7
_INT48 = 1 << 47
"""Limits of TOSA's types that numpy lacks."""

_RESHAPES = frozenset(
    {"RESHAPE", "EXPAND_DIMS", "SQUEEZE", "CAST", "TOSA_RESHAPE", "TOSA_CAST", "TOSA_IDENTITY"}
)
"""Operators that keep values and their order."""

_MOVES = _RESHAPES | {
    *("TRANSPOSE", "SLICE", "STRIDED_SLICE", "CONCATENATION", "PACK", "UNPACK", "SPLIT"),
    *("SPLIT_V", "TILE", "REVERSE_V2", "BROADCAST_TO", "GATHER", "GATHER_ND", "TOSA_TRANSPOSE"),
    *("TOSA_SLICE", "TOSA_CONCAT", "TOSA_TILE", "TOSA_REVERSE", "TOSA_GATHER"),
}
"""Operators that keep values; those that also index tensors are checked for that first."""


@dataclass(frozen=True)
class Span:
    """The values from `low` to `high` that an input accepts, for all elements or for each one.

    `centre` is the zero value. `is_whole` means that only whole numbers make sense.
    `is_bounded` means that the network's operators set the bounds, not the type.
    """

    low: Any
    high: Any
    centre: Any
    is_whole: bool
    is_bounded: bool = False


@dataclass(frozen=True)
class _Bounds:
    """An operator's bounds for a tensor, for each of its elements or for the last dimension."""

    low: Array
    high: Array


def input_spans(network: Network) -> list[Span]:
    """Return the span of values that each input accepts, in order of the signature."""
    return [_span(network, tensor) for tensor in network.inputs]


def _span(network: Network, tensor: Tensor) -> Span:
    kind = np.dtype(tensor.dtype)
    bounds = list(_follow(network.graphs, network.graph, tensor.index, tensor, frozenset()))
    if bounds:
        return _bounded(tensor, bounds)
    if tensor.is_packed:
        return Span(-_MOST_INT4, _MOST_INT4, 0, True)
    if network.is_tosa and tensor.dtype == "int64":
        return Span(-_INT48, _INT48 - 1, 0, True)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        most = min(info.max, np.iinfo(np.int64).max)
        return Span(info.min, most, tensor.first_zero_point, True)
    if kind.kind == "b":
        return Span(0, 1, 0, True)
    return _real_span(network.graph, tensor)


def _bounded(tensor: Tensor, bounds: Sequence[_Bounds]) -> Span:
    """Return the values within all bounds and the type's range."""
    low = np.max(np.stack([b.low for b in bounds]), axis=0)
    high = np.min(np.stack([b.high for b in bounds]), axis=0)
    kind = np.dtype(tensor.dtype)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        low, high = np.clip(low, info.min, info.max), np.clip(high, info.min, info.max)
    high = np.maximum(low, high)
    is_whole = bool(np.all(low == np.rint(low)))  # so are indices after a CAST
    return Span(low, high, low, is_whole, is_bounded=True)


def _real_span(graph: Graph, tensor: Tensor) -> Span:
    """Return the floats that a QUANTIZE of the input can represent, if there is one."""
    for op in graph.operators:
        output = graph.tensors[op.outputs[0]] if op.outputs else None
        if op.code == "QUANTIZE" and tensor.index in op.inputs and output and output.quantization:
            info, scale = np.iinfo(output.dtype), output.quantization.scale[0]
            zero = output.quantization.zero_point[0]
            return Span(scale * (info.min - zero), scale * (info.max - zero), 0.0, False)
    return Span(-_FLOAT_REACH, _FLOAT_REACH, 0.0, False)


# ---- the operators' bounds -----------------------------------------------------------------------


def _follow(
    graphs: Sequence[Graph], graph: Graph, index: int, source: Tensor, seen: frozenset[Any]
) -> Iterator[_Bounds]:
    """Yield the bounds that a tensor's readers set, in the shape of the input `source`."""
    if (graph.name, index) in seen:
        return
    seen |= {(graph.name, index)}
    for op in graph.operators:
        for position in (i for i, read in enumerate(op.inputs) if read == index):
            asked = _asked(graph, op, position)
            if asked is not None:
                yield _fitted(asked, graph.tensors[index], source, seen)
            elif op.code in _MOVES:
                kept = seen if op.code in _RESHAPES else seen | {_SHUFFLED}
                for output in op.outputs:
                    yield from _follow(graphs, graph, output, source, kept)
            for inner, place in _inner(graphs, op, position):
                yield from _follow(graphs, inner, place, source, seen)


_SHUFFLED = "shuffled"
"""Marks in `seen` that elements are no longer in the input's order."""


def _fitted(bounds: _Bounds, reader: Tensor, source: Tensor, seen: frozenset[Any]) -> _Bounds:
    """Return bounds for the input: element by element if they still correspond, else for all."""
    if reader.elements == source.elements and _SHUFFLED not in seen:
        return _Bounds(
            np.broadcast_to(bounds.low, reader.shape).reshape(source.shape),
            np.broadcast_to(bounds.high, reader.shape).reshape(source.shape),
        )
    return _Bounds(
        np.broadcast_to(bounds.low.max(), source.shape),
        np.broadcast_to(bounds.high.min(), source.shape),
    )


def _asked(graph: Graph, op: Operator, position: int) -> _Bounds | None:
    """Return the bounds that an operator sets for one of its inputs, None if it sets none."""
    if op.code == "WHILE":
        tensor = graph.tensors[op.inputs[position]]
        plain = np.dtype(tensor.dtype).kind in "iu" and tensor.quantization is None
        return _Bounds(np.array(-LOOPS), np.array(LOOPS)) if plain else None
    if (op.code, position) not in _ASKERS:
        return None
    ports = (*op.inputs, *op.outputs)
    tensors = [graph.tensors[i] if i != ABSENT else None for i in ports]
    return _ASKERS[op.code, position](op, tensors)


def _inner(graphs: Sequence[Graph], op: Operator, position: int) -> Iterator[tuple[Graph, int]]:
    """Yield the tensors of subgraphs to which an operator passes one of its inputs."""
    first = 1 if op.code == "IF" else 0
    for name, number in op.options.items():
        if name.endswith("subgraph_index") and 0 < number < len(graphs):
            inner = graphs[number]
            if 0 <= position - first < len(inner.inputs):
                yield inner, inner.inputs[position - first]


def _below(sizes: Array) -> _Bounds:
    """Return the bounds of indices into dimensions of these sizes."""
    return _Bounds(np.zeros_like(sizes), np.maximum(sizes - 1, 0))


def _gather(op: Operator, tensors: Sequence[Any]) -> _Bounds:
    shape = tensors[0].shape
    return _below(np.array(shape[int(op.options.get("axis", 0)) % len(shape)]))


def _gather_nd(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    return _below(np.array(tensors[0].shape[: tensors[1].shape[-1]]))


def _embedding_lookup(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    return _below(np.array(tensors[1].shape[0]))


def _one_hot(_op: Operator, tensors: Sequence[Any]) -> _Bounds | None:
    return None if tensors[1].data is None else _below(tensors[1].array().reshape(()))


def _scatter_nd(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    return _below(np.array(tensors[-1].shape[: tensors[0].shape[-1]]))


def _slice_begin(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    return _below(np.array(tensors[0].shape) - np.array(tensors[-1].shape) + 1)


def _update_start(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    return _below(np.array(tensors[0].shape) - np.array(tensors[1].shape) + 1)


def _from_zero(_op: Operator, tensors: Sequence[Any]) -> _Bounds | None:
    """Return the bounds of an integer whose value must not be negative."""
    kind, quantization = np.dtype(tensors[0].dtype), tensors[0].quantization
    if kind.kind not in "iu" or quantization is None or not quantization.zero_point:
        return None
    return _Bounds(np.array(quantization.zero_point[0]), np.array(np.iinfo(kind).max))


def _divisor(op: Operator, tensors: Sequence[Any]) -> _Bounds | None:
    """Return the bounds of a divisor: no oracle divides by a zero value, except in a float DIV."""
    kind, quantization = np.dtype(tensors[1].dtype), tensors[1].quantization
    if kind.kind == "f" and op.code != "DIV":
        return _Bounds(np.array(_LEAST_DIVISOR), np.array(_FLOAT_REACH))
    if kind.kind not in "iu":
        return None
    known = op.code == "DIV" and quantization is not None and quantization.zero_point
    return _Bounds(
        np.array(1 + (quantization.zero_point[0] if known else 0)), np.array(np.iinfo(kind).max)
    )


def _base(_op: Operator, tensors: Sequence[Any]) -> _Bounds | None:
    """Return the bounds of a POW's base whose powers fit in int32; LiteRT defines no others."""
    base, exponent = tensors[0], tensors[1]
    if base.dtype != "int32":
        return None
    most = _MOST_EXPONENT if exponent.data is None else int(exponent.array().max(initial=1))
    reach = int(np.iinfo(np.int32).max ** (1 / max(most, 1)))
    return _Bounds(np.array(-reach), np.array(reach))


def _exponent(_op: Operator, tensors: Sequence[Any]) -> _Bounds | None:
    """Return the bounds of a POW's exponent: at least 0 in an integer, and the power fits."""
    base = tensors[0]
    if base.dtype != "int32":
        return None
    most = _MOST_EXPONENT
    if base.data is not None:
        reach = max(abs(int(value)) for value in (base.array().min(), base.array().max(), 2))
        most = int(math.log(np.iinfo(np.int32).max, reach))
    return _Bounds(np.array(0), np.array(most))


def _size(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    """Return the bounds of a BROADCAST_ARGS' sizes: where they differ, one of them must be 1."""
    most = _MOST_SIZE if tensors[1].data is None else 1
    return _Bounds(np.array(1), np.array(most))


def _unit_size(_op: Operator, _tensors: Sequence[Any]) -> _Bounds:
    return _Bounds(np.array(1), np.array(1))


def _row(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    """Return the bounds of TOSA's indices of rows."""
    return _below(np.array(tensors[0].shape[1]))


def _places(_op: Operator, tensors: Sequence[Any]) -> _Bounds:
    """Return the bounds of TOSA's shifts, which are below the type's width."""
    return _below(np.array(8 * np.dtype(tensors[0].dtype).itemsize))


def _bias(_op: Operator, tensors: Sequence[Any]) -> _Bounds | None:
    """Return bounds of TOSA's biases that leave room for the products.

    A sum that leaves int32 or int48 is undefined, and the reference model saturates it.
    """
    most = {"int32": 1 << 30, "int64": _INT48 >> 1}.get(tensors[2].dtype)
    return None if most is None else _Bounds(np.array(-most), np.array(most))


_LAYERS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
_ASKERS: Mapping[tuple[str, int], Callable[[Operator, Sequence[Any]], _Bounds | None]] = {
    ("GATHER", 1): _gather,
    ("GATHER_ND", 1): _gather_nd,
    ("EMBEDDING_LOOKUP", 0): _embedding_lookup,
    ("ONE_HOT", 0): _one_hot,
    ("BROADCAST_ARGS", 0): _size,
    ("BROADCAST_ARGS", 1): _unit_size,
    ("SCATTER_ND", 0): _scatter_nd,
    ("SLICE", 1): _slice_begin,
    ("DYNAMIC_UPDATE_SLICE", 2): _update_start,
    ("RSQRT", 0): _from_zero,
    ("DIV", 1): _divisor,
    ("POW", 0): _base,
    ("POW", 1): _exponent,
    ("FLOOR_DIV", 1): _divisor,
    ("FLOOR_MOD", 1): _divisor,
    **{(f"TOSA_{name}", 2): _bias for name in _LAYERS},
    ("TOSA_GATHER", 1): _row,
    ("TOSA_SCATTER", 1): _row,
    ("TOSA_INTDIV", 1): _divisor,
    ("TOSA_ARITHMETIC_RIGHT_SHIFT", 1): _places,
    ("TOSA_LOGICAL_LEFT_SHIFT", 1): _places,
    ("TOSA_LOGICAL_RIGHT_SHIFT", 1): _places,
}
"""(operator, input): the bounds for that input, from the operator, its inputs and outputs."""
