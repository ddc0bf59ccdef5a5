"""The rewrite that shares repeated computations."""

from collections.abc import Hashable

from ethosgen.optimizer.dead.operators import is_pure, moved_reads
from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor

NAME = "common-subexpressions"


def share(network: Network) -> Rewritten | None:
    """Let readers of an operator that repeats an earlier one read the earlier one's output."""
    return in_each_graph(network, _share_first, NAME, "repeated operator", "shared")


def _share_first(graph: Graph) -> tuple[Graph, int]:
    twins = _first_twins(graph)
    return (graph, 0) if twins is None else (moved_reads(graph, *twins), 1)


def _first_twins(graph: Graph) -> tuple[Operator, int, int] | None:
    """Return an operator that repeats another, the other's output, and its own."""
    known: dict[Hashable, int] = {}
    for operator in graph.operators:
        if len(operator.outputs) != 1 or not is_pure(operator, graph):
            continue
        (output,) = operator.outputs
        first = known.setdefault(_key(operator, graph), output)
        if first != output and output not in graph.outputs:
            return operator, first, output
    return None


def _key(operator: Operator, graph: Graph) -> Hashable:
    reads = tuple(_read(graph, index) for index in operator.inputs)
    options = tuple(sorted((name, repr(value)) for name, value in operator.options.items()))
    return operator.code, reads, options, _kind(graph.tensors[operator.outputs[0]])


def _read(graph: Graph, index: int) -> Hashable:
    """Return a key that identifies an input; equal constants have the same key."""
    if index == ABSENT or graph.tensors[index].data is None:
        return index
    return *_kind(graph.tensors[index]), graph.tensors[index].data


def _kind(tensor: Tensor) -> tuple[Hashable, ...]:
    return tensor.dtype, tensor.shape, repr(tensor.quantization)


COMMON_SUBEXPRESSIONS = Rewrite(
    NAME,
    "an earlier operator has the same code, options, inputs and constants, and an output of the "
    "same type, shape and quantization; neither has another effect",
    share,
)
