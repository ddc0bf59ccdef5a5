"""Channels-first inputs, whose TRANSPOSE a network does not need."""

from collections.abc import Sequence

from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.source import AS_IS


def channels_first_inputs(network: Network) -> tuple[str, ...]:
    """Return the names of the inputs that --input-layout nhwc would change."""
    graph = network.graph
    if network.source is None or network.source.options.input_layout != AS_IS:
        return ()
    return tuple(graph.tensors[i].name for i in graph.inputs if channels_first_moves(graph, i))


def channels_first_moves(graph: Graph, index: int) -> Sequence[Operator]:
    """Return the TRANSPOSEs to channels-last that read an input, () if others read it, too."""
    tensor = graph.tensors[index]
    readers = [operator for operator in graph.operators if index in operator.inputs]
    if len(tensor.shape) < 3 or index in graph.outputs:
        return ()
    are_moves = all(_is_move(operator, graph, tensor) for operator in readers)
    return readers if readers and are_moves else ()


def _is_move(operator: Operator, graph: Graph, tensor: Tensor) -> bool:
    if operator.code != "TRANSPOSE" or operator.outputs[0] in graph.outputs:
        return False
    order = graph.tensors[operator.inputs[1]]
    rank = len(tensor.shape)
    return order.data is not None and order.array().tolist() == [0, *range(2, rank), 1]
