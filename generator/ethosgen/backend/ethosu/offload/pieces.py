"""Operators that Vela divides into thousands of operations: they stay on the CPU.

Regor (compiler/scheduler_decompose.cpp, DecomposeLeadingDimensions) makes an NPU operation for each
index of the leading axes, which are all but the last two of a matrix product, the batch of a
window, and all but the last three of an elementwise operator that broadcasts or copies a part of a
tensor. Its scheduler needs two milliseconds for each, so an axis of 65,536 takes minutes, and the
NPU starts as many operations.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Graph, Tensor
from ethosgen.values.tosa import PREFIX

MOST_PIECES = 4096
"""Vela makes as many operations in about eight seconds."""

Pieces = Callable[[Sequence[Tensor], Tensor], int]


def divided_operators(graph: Graph) -> dict[OperatorIndex, str]:
    """Return the operators that Vela divides into more than MOST_PIECES operations; the reasons."""
    counts: dict[OperatorIndex, int] = {}
    for op in graph.operators:
        count_pieces = _PIECES.get(op.code.removeprefix(PREFIX))
        if count_pieces and op.outputs:
            inputs = [graph.tensors[i] for i in op.inputs if i != ABSENT]
            counts[OperatorIndex(op.index)] = count_pieces(inputs, graph.tensors[op.outputs[0]])
    return {
        index: f"Vela divides it into {counted(count, 'operation')}, and more than {MOST_PIECES:,} "
        "take it too long"
        for index, count in counts.items()
        if count > MOST_PIECES
    }


def _of_product(_inputs: Sequence[Tensor], output: Tensor) -> int:
    return math.prod(output.shape[:-2])


def _of_window(_inputs: Sequence[Tensor], output: Tensor) -> int:
    return math.prod(output.shape[:1])


def _of_element_wise(inputs: Sequence[Tensor], output: Tensor) -> int:
    repeats = any(tensor.elements > 1 and tensor.shape != output.shape for tensor in inputs)
    return _leading(output) if repeats else 1


def _of_concatenation(inputs: Sequence[Tensor], _output: Tensor) -> int:
    return sum(map(_leading, inputs))


def _of_copy(_inputs: Sequence[Tensor], output: Tensor) -> int:
    return _leading(output)


def _of_tile(inputs: Sequence[Tensor], output: Tensor) -> int:
    return _leading(inputs[0]) * output.elements // max(inputs[0].elements, 1)


def _leading(tensor: Tensor) -> int:
    return math.prod(tensor.shape[:-3])


_PIECES: Mapping[str, Pieces] = {
    **dict.fromkeys(["BATCH_MATMUL", "MATMUL"], _of_product),
    **dict.fromkeys(["AVERAGE_POOL_2D", "MAX_POOL_2D", "AVG_POOL2D", "MAX_POOL2D"], _of_window),
    **dict.fromkeys(["CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"], _of_window),
    **dict.fromkeys(["CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"], _of_window),
    **dict.fromkeys(["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "INTDIV"], _of_element_wise),
    **dict.fromkeys(["SQUARED_DIFFERENCE", "SELECT", "SELECT_V2"], _of_element_wise),
    **dict.fromkeys(["EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL"], _of_element_wise),
    **dict.fromkeys(["LESS", "LESS_EQUAL", "RIGHT_SHIFT"], _of_element_wise),
    **dict.fromkeys(["ARITHMETIC_RIGHT_SHIFT", "LOGICAL_LEFT_SHIFT"], _of_element_wise),
    **dict.fromkeys(["LOGICAL_RIGHT_SHIFT", "LOGICAL_AND", "LOGICAL_OR"], _of_element_wise),
    **dict.fromkeys(["LOGICAL_XOR", "BITWISE_AND", "BITWISE_OR"], _of_element_wise),
    "BITWISE_XOR": _of_element_wise,
    **dict.fromkeys(["CONCAT", "CONCATENATION"], _of_concatenation),
    **dict.fromkeys(["PAD", "PADV2", "MIRROR_PAD", "SLICE", "STRIDED_SLICE"], _of_copy),
    **dict.fromkeys(["RESIZE", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"], _of_copy),
    "TILE": _of_tile,
}
