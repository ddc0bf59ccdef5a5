"""How the channels of an operator's outputs follow from those of its inputs.

Output channel c of an operator in CARRIERS depends only on channel `origin[c]` of each related
input, so both can be removed together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.bounds import channels_of
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor

Indices = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Relation:
    """Output channel `start + i` follows from channel `origin[i]` of the input at `position`."""

    position: int
    start: int
    origin: Indices


Relate = Callable[[Operator, Graph], "tuple[Relation, ...] | None"]
"""Returns the relations of an operator with its inputs, None for one that mixes channels.

Inputs without a relation are read whole: they are the same for all channels.
"""

_UNARY = (
    *("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LOGISTIC", "TANH", "HARD_SWISH", "ELU"),
    *("LEAKY_RELU", "GELU", "ABS", "NEG", "QUANTIZE", "DEQUANTIZE", "MAX_POOL_2D"),
    *("AVERAGE_POOL_2D", "RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"),
)
_BINARY = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "PRELU", "SQUARED_DIFFERENCE")


def _same(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    source, target = (graph.tensors[i] for i in (operator.inputs[0], operator.outputs[0]))
    count = channels_of(target)
    if not target.shape or channels_of(source) != count:
        return None
    return (Relation(0, 0, np.arange(count)),)


def _broadcast(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    target = graph.tensors[operator.outputs[0]]
    count = channels_of(target)
    sizes = [channels_of(graph.tensors[i]) for i in operator.inputs]
    if not target.shape or not {*sizes} <= {1, count}:
        return None
    return tuple(
        Relation(position, 0, np.arange(count))
        for position, size in enumerate(sizes)
        if size == count
    )


def _depthwise(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    source, target = (graph.tensors[i] for i in (operator.inputs[0], operator.outputs[0]))
    count, depth = channels_of(target), channels_of(source)
    if len(target.shape) != 4 or not depth or count % depth or not _has_own_layer(operator, graph):
        return None
    return (Relation(0, 0, np.arange(count) // (count // depth)),)


def _reshaped(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    source, target = (graph.tensors[i] for i in (operator.inputs[0], operator.outputs[0]))
    count, depth = channels_of(target), channels_of(source)
    if not target.shape or not source.shape or not depth or count % depth:
        return None
    if len(operator.inputs) > 1 and graph.tensors[operator.inputs[1]].data is None:
        return None
    return (Relation(0, 0, np.arange(count) % depth),)


def _padded(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    amounts = graph.tensors[operator.inputs[1]]
    if amounts.data is None or amounts.array().reshape(-1, 2)[-1].any():
        return None
    return _same(operator, graph)


def _averaged(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    source, axes = (graph.tensors[i] for i in operator.inputs)
    if axes.data is None or not source.shape:
        return None
    rank = len(source.shape)
    if any(int(axis) % rank == rank - 1 for axis in axes.array().ravel()):
        return None
    return _same(operator, graph)


def _concatenated(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    target = graph.tensors[operator.outputs[0]]
    rank = len(target.shape)
    sizes = [channels_of(graph.tensors[i]) for i in operator.inputs]
    if int(operator.options.get("axis", 0)) % rank != rank - 1:
        starts = [0] * len(sizes)
    else:
        starts = [sum(sizes[:position]) for position in range(len(sizes))]
    return tuple(
        Relation(position, start, np.arange(size))
        for position, (start, size) in enumerate(zip(starts, sizes, strict=True))
    )


CARRIERS: Mapping[str, Relate] = {
    **dict.fromkeys(_UNARY, _same),
    **dict.fromkeys(_BINARY, _broadcast),
    "DEPTHWISE_CONV_2D": _depthwise,
    "RESHAPE": _reshaped,
    **dict.fromkeys(("PAD", "PADV2"), _padded),
    **dict.fromkeys(("MEAN",), _averaged),
    "CONCATENATION": _concatenated,
}


def relations_of(operator: Operator, graph: Graph) -> tuple[Relation, ...] | None:
    """Return the relations of an operator with its inputs, None for one that mixes channels."""
    relate = CARRIERS.get(operator.code)
    if relate is None or len(operator.outputs) != 1:
        return None
    read = operator.inputs[:1] if operator.code == "DEPTHWISE_CONV_2D" else operator.inputs
    if ABSENT in read or not all(_is_plain(graph.tensors[i]) for i in (*read, *operator.outputs)):
        return None
    try:
        return relate(operator, graph)
    except (IndexError, ValueError, ZeroDivisionError):  # contradictions, which others report
        return None


def _is_plain(tensor: Tensor) -> bool:
    """Return whether a tensor has one scale, or none, and no state."""
    known = tensor.quantization
    return not tensor.is_variable and (known is None or len(known.scale) <= 1)


def _has_own_layer(operator: Operator, graph: Graph) -> bool:
    """Return whether weights and bias are constants that can be cut."""
    weights, *bias = (graph.tensors[i] for i in operator.inputs[1:] if i != ABSENT)
    return weights.data is not None and all(tensor.data is not None for tensor in bias)
