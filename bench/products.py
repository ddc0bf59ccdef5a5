"""The multiplications of layers: which share of a network's work runs on the NPU."""

from collections.abc import Iterable
from math import prod

from ethosgen.values.network import Graph, Operator
from ethosgen.values.tosa import PREFIX

_DENSE = {"CONV_2D", "FULLY_CONNECTED", "TOSA_CONV2D", "TOSA_CONV3D"}
"""Layers whose outputs use all weights of their channel, the first axis of the weights."""
_DEPTHWISE = {"DEPTHWISE_CONV_2D": (1, 2), "TOSA_DEPTHWISE_CONV2D": (0, 1)}
"""The axes of the weights that are the window."""
_TRANSPOSED = {"TRANSPOSE_CONV": 2, f"{PREFIX}TRANSPOSE_CONV2D": 0}
"""The input whose elements are multiplied by the weights of their channel."""
_MATRICES = {"BATCH_MATMUL", "TOSA_MATMUL"}
_RECURRENT = "UNIDIRECTIONAL_SEQUENCE_LSTM"
_RECURRENT_WEIGHTS = slice(1, 9)


def products(graph: Graph, operators: Iterable[Operator]) -> int:
    """Return the multiplications of inputs by weights, or by each other in matrix products."""
    return sum(_products(graph, operator) for operator in operators)


def _products(graph: Graph, operator: Operator) -> int:
    code = operator.code
    shapes = [graph.tensors[i].shape if i >= 0 else () for i in operator.inputs]
    shape = graph.tensors[operator.outputs[0]].shape
    if code in _DENSE:
        return prod(shape) * prod(shapes[1][1:])
    if code in _DEPTHWISE:
        return prod(shape) * prod(shapes[1][axis] for axis in _DEPTHWISE[code])
    if code in _TRANSPOSED:
        return prod(shapes[_TRANSPOSED[code]]) * prod(shapes[1][:-1])
    if code in _MATRICES:
        return prod(shape) * shapes[0][-2 if operator.options.get("adj_x") else -1]
    if code == _RECURRENT:
        return prod(shape[:-1]) * sum(map(prod, shapes[_RECURRENT_WEIGHTS]))
    return 0
