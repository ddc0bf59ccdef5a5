"""float16 constants: convert them to float32 once instead of by a DEQUANTIZE at every inference.

Converters store float weights as float16 to halve the file. The conversion to float32 is exact, so
a float32 constant replaces the output, and kernels see the same weights as in other networks.
"""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.values.network import Graph, Operator, Tensor

HALF = "float16"


def widen_constants(graph: Graph) -> Graph:
    """Return a graph in which float32 constants replace each DEQUANTIZE of a float16 constant."""
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
    """Return whether an operator only converts a float16 constant to float32."""
    if operator.code != "DEQUANTIZE" or tensors[operator.outputs[0]].dtype != "float32":
        return False
    source = tensors[operator.inputs[0]]
    return source.dtype == HALF and source.data is not None


def _widened(source: Tensor, target: Tensor) -> Tensor:
    return replace(target, data=source.array().astype("float32").tobytes())
