"""The rewrite that moves TRANSPOSE past elementwise operators, towards another TRANSPOSE."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor

NAME = "moved-transposes"

_ELEMENTWISE = frozenset(
    {
        *("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LOGISTIC", "TANH", "HARD_SWISH", "ELU"),
        *("LEAKY_RELU", "GELU", "ABS", "NEG", "QUANTIZE", "DEQUANTIZE", "EXP", "SQRT", "RSQRT"),
        *("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"),
    }
)
"""Operators that compute each element from those at its place, whatever the place is."""


def move(network: Network) -> Rewritten | None:
    """Let elementwise operators read a TRANSPOSE's input, and transpose their output."""
    return in_each_graph(network, _move_first, NAME, "TRANSPOSE", "moved")


def _move_first(graph: Graph) -> tuple[Graph, int]:
    movable = next(_found(graph), None)
    return (graph, 0) if movable is None else (_moved(graph, *movable), 1)


def _found(graph: Graph) -> Iterator[tuple[Operator, list[int]]]:
    """Yield operators before which all TRANSPOSEs have one order and no other reader.

    At least one of them must go: there are two, or another TRANSPOSE comes after the operator.
    """
    makers = {output: op for op in graph.operators for output in op.outputs}
    for operator in graph.operators:
        varying = _varying(operator, graph)
        before = [makers.get(index) for index in varying]
        orders = [_order(op, graph) if op is not None else None for op in before]
        first = orders[0] if orders else None
        if first is None or any(order != first for order in orders):
            continue
        if any(_sole_reader(index, graph) is not operator for index in varying):
            continue
        if len(varying) > 1 or _meets_transpose(operator, graph):
            yield operator, first


def _varying(operator: Operator, graph: Graph) -> list[int]:
    """Return the inputs of an elementwise operator that vary, if all have its output's shape."""
    if operator.code not in _ELEMENTWISE or len(operator.outputs) != 1:
        return []
    if ABSENT in operator.inputs:
        return []
    target = graph.tensors[operator.outputs[0]]
    read = [graph.tensors[index] for index in operator.inputs]
    varying = [tensor for tensor in read if tensor.data is None]
    if not all(_is_plain(tensor) for tensor in (*read, target)):
        return []
    if any(tensor.shape != target.shape for tensor in varying):
        return []
    return [*dict.fromkeys(tensor.index for tensor in varying)]


def _is_plain(tensor: Tensor) -> bool:
    """Return whether a tensor has one scale, or none, and no state."""
    known = tensor.quantization
    return not tensor.is_variable and (known is None or len(known.scale) <= 1)


def _order(operator: Operator, graph: Graph) -> list[int] | None:
    """Return the constant order of a TRANSPOSE that changes nothing else, None for another."""
    if operator.code != "TRANSPOSE":
        return None
    source, order = (graph.tensors[index] for index in operator.inputs)
    target = graph.tensors[operator.outputs[0]]
    is_alike = (source.dtype, source.quantization) == (target.dtype, target.quantization)
    if order.data is None or source.data is not None or not is_alike or not _is_plain(source):
        return None
    return [int(axis) % len(source.shape) for axis in order.array().ravel()]


def _sole_reader(index: int, graph: Graph) -> Operator | None:
    readers = graph.readers(index)
    return readers[0] if len(readers) == 1 and index not in graph.outputs else None


def _meets_transpose(operator: Operator, graph: Graph) -> bool:
    """Return whether a TRANSPOSE follows, after elementwise operators of one varying input."""
    behind = _sole_reader(operator.outputs[0], graph)
    while behind is not None and len(_varying(behind, graph)) == 1:
        behind = _sole_reader(behind.outputs[0], graph)
    return behind is not None and _order(behind, graph) is not None


def _moved(graph: Graph, operator: Operator, order: list[int]) -> Graph:
    """Return a graph in which an operator precedes the TRANSPOSE, which writes its output."""
    edit = GraphEdit(graph)
    makers = {output: op for op in graph.operators for output in op.outputs}
    varying = _varying(operator, graph)
    back = np.argsort(order).tolist()
    target = graph.tensors[operator.outputs[0]]
    shape = tuple(target.shape[axis] for axis in back)
    inner = replace(
        target, index=len(edit.tensors), name=f"{target.name}_untransposed", shape=shape
    )
    edit.tensors.append(inner)
    for position, index in enumerate(operator.inputs):
        if index in varying:
            edit.set_input(operator.index, position, makers[index].inputs[0])
        else:
            _turn(edit, operator, position, back)
    edited = replace(edit.operators[operator.index], outputs=(inner.index,))
    gone = {makers[index].index for index in varying}
    last = replace(
        makers[varying[0]],
        inputs=(inner.index, makers[varying[0]].inputs[1]),
        outputs=operator.outputs,
    )
    operators = {}
    for number, op in edit.operators.items():
        if number == operator.index:
            operators[number] = edited
            operators[last.index] = last
        elif number not in gone:
            operators[number] = op
    edit.operators = operators
    return edit.done()


def _turn(edit: GraphEdit, operator: Operator, position: int, back: list[int]) -> None:
    """Transpose a constant like the operator's output."""
    constant = edit.tensors[operator.inputs[position]]
    if constant.elements == 1:
        return
    values = constant.array()
    values = values.reshape((1,) * (len(back) - values.ndim) + values.shape)
    turned = edit.constant(constant, values.transpose(back), constant.quantization)
    edit.set_input(operator.index, position, turned)


MOVED_TRANSPOSES = Rewrite(
    NAME,
    "all varying inputs of an elementwise operator come from TRANSPOSEs of one constant order, "
    "which nobody else reads; there are two of them, or another TRANSPOSE is behind the operator",
    move,
)
