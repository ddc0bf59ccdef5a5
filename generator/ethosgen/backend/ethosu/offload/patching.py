"""Changes a flatbuffer in place: finds fields, and redirects offsets.

A table or vector that changes is appended, and its references are redirected, as offsets are
relative and only point forward.
"""

from collections.abc import Iterator

from flatbuffers.table import Table

from ethosgen.values.model import Model, Tensor

MODEL_GRAPHS, GRAPH_TENSORS = 2, 0
TENSOR_TYPE, TENSOR_BUFFER, TENSOR_IS_VARIABLE, TENSOR_SIGNATURE = 1, 2, 5, 7
"""Fields of the tables Model, SubGraph and Tensor, by their place in TFLite's schema."""
ALIGNMENT = 16
"""The largest alignment in TFLite's schema, for the data of buffers."""


def padded(data: bytes) -> bytearray:
    """Return mutable data, padded to an address where anything may be appended."""
    return bytearray(data) + bytes(-len(data) % ALIGNMENT)


def field(table: Table, number: int) -> int:
    """Return the place of a table's field; every model that was read has the fields that we use."""
    return int(table.Pos + table.Offset(4 + 2 * number))


def element(table: Table, slot: int, index: int) -> Table:
    """Return a table from the vector of tables that a field points to."""
    place = target(table.Bytes, slot) + 4 + 4 * index
    return Table(table.Bytes, target(table.Bytes, place))


def tensor_tables(root: Table, model: Model) -> Iterator[tuple[Table, Tensor]]:
    """Yield each tensor's table in a model's file, for all graphs, with the parsed tensor."""
    for number, graph in enumerate(model.graphs):
        table = element(root, field(root, MODEL_GRAPHS), number)
        for tensor in graph.tensors:
            yield element(table, field(table, GRAPH_TENSORS), tensor.index), tensor


def target(data: bytearray, slot: int) -> int:
    """Return the place that an offset points to."""
    return slot + int.from_bytes(data[slot : slot + 4], "little")


def point(data: bytearray, slot: int, place: int) -> None:
    """Let an offset point to another, later place."""
    data[slot : slot + 4] = (place - slot).to_bytes(4, "little")
