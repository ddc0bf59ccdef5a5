"""Constants of float16: a DEQUANTIZE turns each into float32 at every inference, and need not.

Converters store the weights of a float network so to halve its file. Every float16 is a float32,
so the constant takes the output's place, and kernels see weights as in any other network.
"""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.values.model import Graph, Operator, Tensor

HALF = "float16"


def widen_constants(graph: Graph) -> Graph:
    """Return a graph with float32 constants in place of each DEQUANTIZE of a float16 constant."""
    widened = {
        op.outputs[0]: _widened(graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]])
        for op in graph.operators
        if is_widened(op, graph.tensors)
    }
    if not widened:
        return graph
    return replace(
        graph,
        tensors=tuple(widened.get(tensor.index, tensor) for tensor in graph.tensors),
        operators=tuple(op for op in graph.operators if not widened.keys() & set(op.outputs)),
    )


def is_widened(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether an operator only turns a float16 constant into float32."""
    if operator.code != "DEQUANTIZE" or tensors[operator.outputs[0]].dtype != "float32":
        return False
    source = tensors[operator.inputs[0]]
    return source.dtype == HALF and source.data is not None


def _widened(source: Tensor, target: Tensor) -> Tensor:
    return replace(target, data=source.array().astype("float32").tobytes())
