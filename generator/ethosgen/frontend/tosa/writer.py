"""Writes networks of TOSA's operators as .tosa files; nothing else does.

An unedited file is returned unchanged. A written file names each constant by an operator CONST or
CONST_SHAPE, as TOSA requires, and has one region with one block.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.frontend.flatbuffer import VectorWriter, packed_halves
from ethosgen.frontend.tosa.halves import HALF, is_rounding, narrowed
from ethosgen.frontend.tosa.identifier import FORMAT, IDENTIFIER
from ethosgen.frontend.tosa.variables import file_graphs, variables_of
from ethosgen.values.network import HANDLE, Graph, Network, Operator, Tensor
from ethosgen.values.tosa import (
    CONST,
    CONST_SHAPE,
    CONTROL,
    DTYPES,
    IDENTITY,
    TOSA_OPS,
    VARIABLE_READ,
    VARIABLE_WRITE,
    VERSION,
    Attribute,
)

Add = Callable[[Any], None]


def file_of(network: Network) -> bytes:
    """Return the bytes of the file that a network was read from, or new ones if it was edited."""
    if network.source is not None and network.source.format == FORMAT:
        return network.source.data
    return write_network(network)


def write_network(network: Network) -> bytes:
    """Return a .tosa file with the graphs of a network. It writes any values, valid or not."""
    return _TosaWriter(network).file()


class _TosaWriter(VectorWriter):
    """Writes one file; the methods that add parts return their offsets."""

    def __init__(self, network: Network) -> None:
        data = (t.data for graph in network.graphs for t in graph.tensors)
        super().__init__(sum(len(content) for content in data if content), alignment=8)
        self.network = network
        self.variables = variables_of(network.graphs)
        self.take(network.graph)

    def take(self, graph: Graph) -> None:
        """Write this graph from now on."""
        self.graph = graph
        self.shapes = {
            index
            for op in graph.operators
            for position, index in enumerate(op.inputs)
            if op.code in TOSA_OPS and TOSA_OPS[op.code].port(position).is_shape
        }
        self.used = {i for op in self.graph.operators for i in (*op.inputs, *op.outputs)} | {
            *self.graph.inputs,
            *self.graph.outputs,
        }

    def file(self) -> bytes:
        version = self.table(
            {i: self.plain("int32", number, -1) for i, number in enumerate(VERSION)}
            | {3: self.plain("bool", False, True)}
        )
        regions = self.offsets([self.region(graph) for graph in file_graphs(self.network.graphs)])
        root = self.table({0: self.offset(version), 1: self.offset(regions)})
        self.builder.Finish(root, IDENTIFIER)
        return bytes(self.builder.Output())

    def region(self, graph: Graph) -> int:
        self.take(graph)
        name, block = self.text(graph.name), self.block()
        return self.table({0: self.offset(name), 1: self.offset(self.offsets([block]))})

    def block(self) -> int:
        graph = self.graph
        tensors = [t for t in graph.tensors if t.index in self.used]
        constants = [t for t in tensors if t.data is not None]
        written = [op for op in graph.operators if op.code not in ("CALL_ONCE", "VAR_HANDLE")]
        operators = [*map(self.constant, constants), *map(self.operator, written)]
        plain = [self.tensor(t) for t in tensors if t.index not in self.shapes]
        shapes = [self.shape(t) for t in tensors if t.index in self.shapes]
        return self.table(
            {
                0: self.offset(self.text(graph.name)),
                1: self.offset(self.offsets(operators)),
                2: self.offset(self.offsets(plain)),
                3: self.offset(self.names(graph.inputs)),
                4: self.offset(self.names(graph.outputs)),
                5: self.offset(self.offsets(shapes)),
            }
        )

    def tensor(self, tensor: Tensor) -> int:
        if tensor.dtype == HANDLE:
            return self.variable(tensor)
        kind = _kind(tensor)
        data = None if tensor.data is None else self.bytes(_packed(tensor, kind))
        fields = {
            0: self.offset(self.text(tensor.name)),
            1: self.offset(self.vector(tensor.shape)),
            2: self.plain("uint32", DTYPES.index(kind), 0),
        }
        return self.table(fields if data is None else fields | {3: self.offset(data)})

    def variable(self, handle: Tensor) -> int:
        """Write a variable in place of our graph's handle."""
        (declared,) = (op for op in self.graph.operators if op.outputs == (handle.index,))
        name = declared.options["shared_name"]
        value = self.variables[name]
        kind = _kind(value)
        data = None if value.data is None else self.bytes(_packed(value, kind))
        fields = {
            0: self.offset(self.text(handle.name)),
            1: self.offset(self.vector(value.shape)),
            2: self.plain("uint32", DTYPES.index(kind), 0),
            4: self.plain("bool", True, False),
            6: self.offset(self.text(name)),
        }
        return self.table(fields if data is None else fields | {3: self.offset(data)})

    def shape(self, tensor: Tensor) -> int:
        fields = {
            0: self.offset(self.text(tensor.name)),
            1: self.plain("uint32", tensor.elements, 0),
            2: self.offset(self.bytes(tensor.data or b"")),
        }
        return self.table(fields)

    def constant(self, tensor: Tensor) -> int:
        number = CONST_SHAPE if tensor.index in self.shapes else CONST
        return self.statement(number, (), (tensor.index,), self.table({}))

    def operator(self, op: Operator) -> int:
        if op.code == "READ_VARIABLE":
            return self.access(VARIABLE_READ, op.inputs, op.outputs)
        if op.code == "ASSIGN_VARIABLE":
            return self.access(VARIABLE_WRITE, op.inputs[1:], op.inputs[:1])
        if op.code not in TOSA_OPS:
            number = next(n for n, (_, code, _) in CONTROL.items() if code == op.code)
            names = [self.network.graphs[index].name for index in op.options.values()]
            inner = self.table({i: self.offset(self.text(n)) for i, n in enumerate(names)})
            return self.statement(number, op.inputs, op.outputs, inner)
        is_copy = is_rounding(op, self.graph.tensors)
        known = TOSA_OPS["TOSA_IDENTITY" if is_copy else op.code]
        fields = {
            slot: self.attribute(attribute, op.options[attribute.name])
            for slot, attribute in enumerate(known.attributes)
        }
        return self.statement(known.number, op.inputs, op.outputs, self.table(fields))

    def access(self, kind: int, inputs: Sequence[int], outputs: Sequence[int]) -> int:
        """Write an access to a variable as tosa-opt does, and as the reference model runs it."""
        return self.statement(IDENTITY, inputs, outputs, self.table({}), kind)

    def statement(
        self,
        number: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        attribute: int,
        kind: int | None = None,
    ) -> int:
        return self.table(
            {
                0: self.plain("uint32", number, 0),
                1: self.plain("uint8", number if kind is None else kind, 0),
                2: self.offset(attribute),
                3: self.offset(self.names(inputs)),
                4: self.offset(self.names(outputs)),
            }
        )

    def attribute(self, attribute: Attribute, value: Any) -> Add:
        if attribute.is_vector:
            if attribute.wire == "uint8":
                return self.offset(self.bytes(bytes(value)))
            return self.offset(self.vector(value, attribute.wire))
        number = attribute.names.index(value) if attribute.names else value
        return self.plain(attribute.wire, number, 0)

    # ---- flatbuffers ---------------------------------------------------------------------------

    def table(self, fields: dict[int, Add]) -> int:
        """Add a table: for each slot, a function that adds its field."""
        self.builder.StartObject(1 + max(fields, default=-1))
        for slot, add in fields.items():
            add(slot)
        return int(self.builder.EndObject())

    def plain(self, wire: str, value: Any, default: Any) -> Add:
        prepend = getattr(self.builder, f"Prepend{wire.capitalize()}Slot")
        return lambda slot: prepend(slot, value, default)

    def offset(self, place: int) -> Add:
        return lambda slot: self.builder.PrependUOffsetTRelativeSlot(slot, place, 0)

    def names(self, indices: Sequence[int]) -> int:
        return self.offsets([self.text(self.graph.tensors[i].name) for i in indices])


def _kind(tensor: Tensor) -> str:
    """Return TOSA's type of a tensor that is not a shape."""
    if tensor.is_packed:
        return "int4"
    if tensor.is_half:
        return HALF
    return "int48" if tensor.dtype == "int64" else tensor.dtype


def _packed(tensor: Tensor, kind: str) -> bytes:
    """Return a constant's bytes as the file has them."""
    data = tensor.data or b""
    if kind == "int4":
        return packed_halves(data)
    if kind == HALF:
        return narrowed(data)
    if kind == "int48":
        return np.frombuffer(data, np.uint8).reshape(-1, 8)[:, :6].tobytes()
    return data
