"""The first operators of a network, as a network of its own.

Its outputs are the tensors that the rest would read. The file is not written again: the vector of
operators gets shorter, and new vectors of inputs and outputs are appended.
"""

from collections.abc import Sequence

from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import (
    MODEL_GRAPHS,
    element,
    field,
    padded,
    point,
    target,
)
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import HANDLE, Graph, Model

GRAPH_INPUTS, GRAPH_OUTPUTS, GRAPH_OPERATORS = 1, 2, 3
"""Fields of the table SubGraph."""
MODEL_SIGNATURES = 7
"""A field of the table Model: names of outputs, which are others now."""


def first_operators(model: Model, count: int) -> Model | None:
    """Return the model with its first `count` operators; None if they make nothing to look at."""
    graph = model.graph
    outputs = _alive(graph, count)
    if not outputs:
        return None
    read = {i for op in graph.operators[:count] for i in op.inputs}
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    table = element(root, field(root, MODEL_GRAPHS), 0)
    shorten(data, table, GRAPH_OPERATORS, count)
    shorten(data, root, MODEL_SIGNATURES, 0)
    replace_vector(data, table, GRAPH_INPUTS, [i for i in graph.inputs if i in read])
    replace_vector(data, table, GRAPH_OUTPUTS, outputs)
    return decode_model(bytes(data), model.name)


def _alive(graph: Graph, count: int) -> list[int]:
    """Return the outputs of the first operators that others or the caller read."""
    read = {i for op in graph.operators[count:] for i in op.inputs} | set(graph.outputs)
    made = [i for op in graph.operators[:count] for i in op.outputs]
    return [i for i in dict.fromkeys(made) if i in read and graph.tensors[i].dtype != HANDLE]


def shorten(data: bytearray, table: Table, number: int, count: int) -> None:
    place = field(table, number)
    if place != table.Pos:  # a field that is not there
        vector = target(data, place)
        data[vector : vector + 4] = count.to_bytes(4, "little")


def replace_vector(data: bytearray, table: Table, number: int, values: Sequence[int]) -> None:
    place = field(table, number)
    if place != table.Pos:
        point(data, place, len(data))
        for value in (len(values), *values):
            data += value.to_bytes(4, "little")
