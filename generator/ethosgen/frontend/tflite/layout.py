"""Channels-last inputs for a file with channels-first ones, as converters from PyTorch write them.

A TRANSPOSE after such an input gives the layout that all other operators need. Without it the
application passes the input as a camera delivers it, and nothing moves.
"""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.values.editing import compacted, with_graphs
from ethosgen.values.errors import InputError
from ethosgen.values.layout import channels_first_moves
from ethosgen.values.network import Graph, Network, Operator


def with_channels_last(network: Network) -> Network:
    """Return the network without the TRANSPOSEs that give its inputs channels-last.

    InputError if it has none.
    """
    graph = network.graph
    for index in graph.inputs:
        moves = channels_first_moves(graph, index)
        if moves:
            graph = _without(graph, index, moves)
    if graph is network.graph:
        raise InputError(
            f"--input-layout nhwc does not apply to '{network.name}': no TRANSPOSE behind an input "
            "makes it channels-last; omit it"
        )
    edited = with_graphs(network, {0: compacted(graph, graph.tensors, graph.operators)})
    return replace(edited, source=network.source)


def _without(graph: Graph, index: int, moves: Sequence[Operator]) -> Graph:
    """Return the graph whose input has the shape that the moves gave it."""
    gone = {move.outputs[0] for move in moves}
    numbers = {move.index for move in moves}
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], shape=tensors[moves[0].outputs[0]].shape)
    operators = tuple(
        replace(op, inputs=tuple(index if i in gone else i for i in op.inputs))
        for op in graph.operators
        if op.index not in numbers
    )
    return replace(graph, tensors=tuple(tensors), operators=operators)
