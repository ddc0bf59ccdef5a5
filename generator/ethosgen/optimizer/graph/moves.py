"""The rewrite that merges moves: a TRANSPOSE after another, and shapes after shapes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import Graph, Network, Operator, Tensor

NAME = "merged-moves"
SHAPES = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})
"""Operators that keep all bytes in their places."""
Pair = tuple[Operator, Operator]
"""A move, and the one behind it."""


def merge(network: Network) -> Rewritten | None:
    """Let a move read the input of the move before it."""
    return in_each_graph(network, _merge_first, NAME, "move", "merged")


def _merge_first(graph: Graph) -> tuple[Graph, int]:
    pair = _first_pair(graph)
    return (graph, 0) if pair is None else (_merged(graph, *pair), 1)


def _first_pair(graph: Graph) -> Pair | None:
    makers = {output: op for op in graph.operators for output in op.outputs}
    for operator in graph.operators:
        before = makers.get(operator.inputs[0]) if _is_move(operator, graph) else None
        if before is None or not _is_move(before, graph):
            continue
        if (operator.code in SHAPES) == (before.code in SHAPES):
            return before, operator
    return None


def _is_move(operator: Operator, graph: Graph) -> bool:
    """Return whether an operator moves one tensor in a known way, and nothing else."""
    if operator.code not in SHAPES and operator.code != "TRANSPOSE":
        return False
    source, target = graph.tensors[operator.inputs[0]], graph.tensors[operator.outputs[0]]
    if source.is_variable or source.data is not None or not _are_alike(source, target):
        return False
    return operator.code in SHAPES or graph.tensors[operator.inputs[1]].data is not None


def _are_alike(source: Tensor, target: Tensor) -> bool:
    """Return whether two tensors have one type and one scale and zero point for all elements."""
    scale = source.quantization
    is_plain = scale is None or len(scale.scale) <= 1
    same = (source.dtype, scale) == (target.dtype, target.quantization)
    return same and is_plain and source.elements == target.elements


def _merged(graph: Graph, before: Operator, behind: Operator) -> Graph:
    edit = GraphEdit(graph)
    edit.set_input(behind.index, 0, before.inputs[0])
    if behind.code == "TRANSPOSE":
        first, second = (_order(graph, operator) for operator in (before, behind))
        edit.set_input(behind.index, 1, _integers(edit, behind, [first[i] for i in second]))
    else:
        shape = graph.tensors[behind.outputs[0]].shape
        numbers = _integers(edit, behind, shape)
        operator = edit.operators[behind.index]
        edit.operators[behind.index] = replace(
            operator, code="RESHAPE", inputs=(operator.inputs[0], numbers), options={}
        )
    return edit.done()


def _order(graph: Graph, operator: Operator) -> list[int]:
    order = graph.tensors[operator.inputs[1]].array().tolist()
    return [int(axis) % len(order) for axis in order]


def _integers(edit: GraphEdit, operator: Operator, values: Sequence[int]) -> int:
    """Add a constant of int32 that belongs to an operator."""
    output = edit.tensors[operator.outputs[0]]
    like = replace(output, name=f"{output.name}_moved", dtype="int32", quantization=None)
    return edit.constant(like, np.array(values, np.int32), None)


MERGED_MOVES = Rewrite(
    NAME,
    "a TRANSPOSE reads a TRANSPOSE, or a RESHAPE, SQUEEZE or EXPAND_DIMS another of these; all "
    "orders are constants, and all tensors have one type, scale and zero point",
    merge,
)
