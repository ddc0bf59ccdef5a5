"""How often kernels read weights."""

from collections.abc import Sequence

from ethosgen.values.network import Graph, Operator

_ROWS = 2
"""The rows of an output for which a kernel reads each weight once (aot/libraries)."""


def reads_of(operators: Sequence[Operator], graph: Graph) -> float:
    """Return the number of times that a kernel reads each weight of its operators."""
    weights = 0
    for operator in operators:
        inputs = (graph.tensors[i] for i in operator.inputs if i >= 0)
        weights += sum(t.elements for t in inputs if t.data is not None and len(t.shape) > 1)
    macs = sum(graph.macs(operator) for operator in operators)
    return max(1.0, macs / weights / _ROWS) if weights else 0.0
