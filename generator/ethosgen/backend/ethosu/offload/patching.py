"""A flatbuffer changed where it lies: where fields are, and offsets to redirect.

A table or vector that changes is appended, and what points to it is redirected, as offsets are
relative and only lead forward.
"""

from collections.abc import Iterator

from flatbuffers.table import Table

from ethosgen.values.model import Model, Tensor

MODEL_GRAPHS, GRAPH_TENSORS = 2, 0
TENSOR_TYPE, TENSOR_BUFFER, TENSOR_IS_VARIABLE, TENSOR_SIGNATURE = 1, 2, 5, 7
"""Fields of the tables Model, SubGraph and Tensor, by their place in TFLite's schema."""
ALIGNMENT = 16
"""What TFLite's schema asks for at most, for the data of buffers."""


def padded(data: bytes) -> bytearray:
    """Return data that can be changed, up to an address where anything may be appended."""
    return bytearray(data) + bytes(-len(data) % ALIGNMENT)


def field(table: Table, number: int) -> int:
    """Return where a field of a table is; every model that was read has those that we ask for."""
    return int(table.Pos + table.Offset(4 + 2 * number))


def element(table: Table, slot: int, index: int) -> Table:
    """Return a table out of the vector of tables that a field points to."""
    place = target(table.Bytes, slot) + 4 + 4 * index
    return Table(table.Bytes, target(table.Bytes, place))


def tensor_tables(root: Table, model: Model) -> Iterator[tuple[Table, Tensor]]:
    """Yield each tensor's table in a model's file, all graphs', with what was read of it."""
    for number, graph in enumerate(model.graphs):
        table = element(root, field(root, MODEL_GRAPHS), number)
        for tensor in graph.tensors:
            yield element(table, field(table, GRAPH_TENSORS), tensor.index), tensor


def target(data: bytearray, slot: int) -> int:
    """Return where an offset leads."""
    return slot + int.from_bytes(data[slot : slot + 4], "little")


def point(data: bytearray, slot: int, place: int) -> None:
    """Let an offset lead to another place, which is behind it."""
    data[slot : slot + 4] = (place - slot).to_bytes(4, "little")
