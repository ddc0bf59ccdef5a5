"""The rewrite that folds constants: operators of constants alone, and shapes.

Moves are computed by numpy, elementwise operators by the intervals' integer arithmetic: where both
ends of an image are equal, every oracle computes that value. Floats are only moved.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.optimizer.intervals.elementwise import ELEMENTWISE, are_alike
from ethosgen.optimizer.intervals.pointwise import images
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor

NAME = "constant-folding"
Array = np.ndarray[Any, Any]

_SMALL = 64
"""Bytes that a folded constant may have if its operator's constants have fewer."""


def fold(network: Network) -> Rewritten | None:
    """Replace operators that compute the same value for every input by constants."""
    return in_each_graph(network, _folded, NAME, "operator of constants", "folded")


def _folded(graph: Graph) -> tuple[Graph, int]:
    """Return a graph without the operators whose inputs are constants, and their number."""
    edit, count = GraphEdit(graph), 0
    for operator in graph.operators:
        values = _values(operator, graph)
        if values is not None:
            target = graph.tensors[operator.outputs[0]]
            data = np.ascontiguousarray(values).astype(target.dtype).tobytes()
            edit.tensors[target.index] = replace(target, data=data)
            del edit.operators[operator.index]
            count += 1
    return (edit.done(), count) if count else (graph, 0)


def _values(operator: Operator, graph: Graph) -> Array | None:
    """Return an operator's result if it is the same for all inputs, None if it is unknown."""
    if len(operator.outputs) != 1 or operator.outputs[0] in (*graph.inputs, *graph.outputs):
        return None
    target = graph.tensors[operator.outputs[0]]
    read = [graph.tensors[i] for i in operator.inputs if i != ABSENT]
    if target.is_variable or target.is_packed or not target.elements or not read:
        return None
    if operator.code == "SHAPE":
        return None if read[0].is_variable else np.array(read[0].shape)
    if any(tensor.data is None or tensor.is_packed for tensor in read):
        return None
    if target.bytes > max(_SMALL, sum(tensor.bytes for tensor in read)):
        return None
    if operator.code in ELEMENTWISE:
        values = _elementwise(operator, graph, read, target)
    else:
        values = _moved(operator, graph, read, target)
    return values if values is None or values.shape == target.shape else None


def _elementwise(
    operator: Operator, graph: Graph, read: list[Tensor], target: Tensor
) -> Array | None:
    """Return the only values of an elementwise operator that every oracle computes."""
    elements = {}
    for tensor in read:
        if tensor.dtype not in ("int8", "uint8", "int16"):
            return None
        values = np.broadcast_to(tensor.array(), target.shape).astype(np.int64).ravel()
        elements[tensor.index] = Bounds(values, values)
    image = images(BoundedSite(operator, graph, {}), elements)
    if image is None or not image.constant.all():
        return None
    return image.low.reshape(target.shape)


def _moved(operator: Operator, graph: Graph, read: list[Tensor], target: Tensor) -> Array | None:
    """Return a move's output, None for other operators."""
    move = _MOVES.get(operator.code)
    data = read if operator.code == "CONCATENATION" else read[:1]
    if move is None or not are_alike(*data, target) or ABSENT in operator.inputs:
        return None
    try:
        return move(operator, [tensor.array() for tensor in read], target)
    except (ValueError, IndexError, TypeError):  # contradictions, which others report
        return None


def _shaped(_operator: Operator, arrays: list[Array], target: Tensor) -> Array:
    return arrays[0].reshape(target.shape)


def _transposed(_operator: Operator, arrays: list[Array], _target: Tensor) -> Array:
    return arrays[0].transpose(arrays[1].ravel().tolist())


def _joined(operator: Operator, arrays: list[Array], target: Tensor) -> Array | None:
    if operator.options.get("fused_activation_function", "NONE") != "NONE":
        return None
    axis = int(operator.options.get("axis", 0)) % max(len(target.shape), 1)
    return np.concatenate(arrays, axis)


def _padded(_operator: Operator, arrays: list[Array], target: Tensor) -> Array:
    filler = arrays[2].ravel()[0] if len(arrays) > 2 else target.first_zero_point
    return np.pad(arrays[0], arrays[1].reshape(-1, 2).tolist(), constant_values=filler)


def _sliced(_operator: Operator, arrays: list[Array], target: Tensor) -> Array:
    starts = arrays[1].ravel().tolist()
    ends = (start + size for start, size in zip(starts, target.shape, strict=True))
    return arrays[0][tuple(slice(*pair) for pair in zip(starts, ends, strict=True))]


def _gathered(operator: Operator, arrays: list[Array], _target: Tensor) -> Array | None:
    if operator.options.get("batch_dims", 0) or (arrays[1] < 0).any():
        return None
    return np.take(arrays[0], arrays[1], int(operator.options.get("axis", 0)))


_MOVES: Mapping[str, Callable[[Operator, list[Array], Tensor], Array | None]] = {
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _shaped),
    "TRANSPOSE": _transposed,
    "CONCATENATION": _joined,
    **dict.fromkeys(("PAD", "PADV2"), _padded),
    "SLICE": _sliced,
    "GATHER": _gathered,
}
"""How moves are computed; each gets the arrays of its inputs."""

FOLDED_CONSTANTS = Rewrite(
    NAME,
    "all inputs of an operator are constants, or it is SHAPE; it is a move, or elementwise with "
    "one value by every rounding; the result is no larger than what it read, or has 64 bytes",
    fold,
)
