"""Extract the first operators of a network as a separate network.

Its outputs are the tensors that the remaining operators read.
"""

from dataclasses import replace

from ethosgen.values.network import HANDLE, Graph, Network


def first_operators(network: Network, count: int) -> Network | None:
    """Return the network of the first `count` operators, None if they have no outputs."""
    graph = network.graph
    outputs = _alive(graph, count)
    if not outputs:
        return None
    operators = graph.operators[:count]
    read = {i for op in operators for i in op.inputs}
    inputs = tuple(i for i in graph.inputs if i in read)
    first = replace(graph, operators=operators, inputs=inputs, outputs=outputs)
    return network.edited(first, *network.graphs[1:])


def _alive(graph: Graph, count: int) -> tuple[int, ...]:
    """Return the outputs of the first operators that later ones or the caller read."""
    read = {i for op in graph.operators[count:] for i in op.inputs} | set(graph.outputs)
    made = [i for op in graph.operators[:count] for i in op.outputs]
    return tuple(i for i in dict.fromkeys(made) if i in read and graph.tensors[i].dtype != HANDLE)
