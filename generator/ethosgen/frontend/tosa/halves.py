"""float16 by conversion: our graphs have float32 there, and kernels round their stores."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ethosgen.values.naming import unique_name
from ethosgen.values.network import Graph, Operator, Tensor

HALF = "float16"
ROUND = "TOSA_CAST"
"""The operator that rounds an input; both its ends are float16, unlike those of TOSA's CAST."""


def widened(data: bytes) -> bytes:
    """Return float16 numbers as float32."""
    return np.frombuffer(data, np.float16).astype(np.float32).tobytes()


def narrowed(data: bytes) -> bytes:
    """Return the float32 numbers of a float16 tensor as float16."""
    return np.frombuffer(data, np.float32).astype(np.float16).tobytes()


def is_rounding(op: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether an operator rounds an input to float16."""
    return op.code == ROUND and all(tensors[i].is_half for i in (*op.inputs, *op.outputs))


def round_inputs(graph: Graph) -> Graph:
    """Return a graph that rounds its float16 inputs first, which firmware gets as float32."""
    taken = {tensor.name for tensor in graph.tensors}
    tensors, roundings, rounded = list(graph.tensors), list[Operator](), dict[int, int]()
    for index in graph.inputs:
        source = tensors[index]
        if not source.is_half or index in rounded:
            continue
        place = rounded[index] = len(tensors)
        name = unique_name(f"{source.name}_rounded", place, taken)
        tensors.append(replace(source, index=place, name=name))
        roundings.append(Operator(0, ROUND, (index,), (place,)))
    if not roundings:
        return graph
    readers = (
        replace(op, inputs=tuple(rounded.get(index, index) for index in op.inputs))
        for op in graph.operators
    )
    operators = (replace(op, index=index) for index, op in enumerate([*roundings, *readers]))
    outputs = tuple(rounded.get(index, index) for index in graph.outputs)
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), outputs=outputs)
