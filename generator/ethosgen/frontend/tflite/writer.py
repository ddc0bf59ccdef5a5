"""Writes networks as .tflite files; nothing else does.

An unedited file is returned unchanged (`file_of`), not rewritten. A written file has the contents
of our values. It omits facts that neither our readers nor Vela's or TFLite Micro's use:

- the description, and the names that signatures give to inputs and outputs
- min and max of quantized tensors: the range seen in training
- shape signatures, except for open sizes
- details of custom quantization, which Vela and TFLite Micro do not support either
- buffers and operator codes that nothing uses
"""

from collections.abc import Callable
from typing import Any

import tflite

from ethosgen.frontend.flatbuffer import VectorWriter, packed_halves
from ethosgen.frontend.tflite.identifier import IDENTIFIER
from ethosgen.values.dialect import ENUMERATIONS, OPS, TEXT, Option
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph, Network, Operator, Quantization, Tensor

_VERSION = 3
_GREATEST_OLD_CODE = 127
"""The value of the older, narrower operator code field for all codes that do not fit."""

_Code = tuple[str, str | None, int]


def file_of(network: Network) -> bytes:
    """Return the bytes of the file that a network was read from, or new ones if it was edited."""
    if network.is_as_given and network.source is not None:
        return network.source.data
    return write_network(network)


def write_network(network: Network) -> bytes:
    """Return a .tflite file with the contents of the model's values.

    Tensors whose constants are one object share a buffer, as in the original file: Vela encodes
    shared data only once. It writes any values, valid or not: readers check them.
    """
    return _TfliteWriter(network).file()


class _TfliteWriter(VectorWriter):
    """Writes one file; the methods that add parts return their offsets."""

    def __init__(self, network: Network) -> None:
        constants = [t.data for graph in network.graphs for t in graph.tensors if t.data]
        size = sum(map(len, [*constants, *network.metadata.values()]))
        super().__init__(size, alignment=16)
        self.network = network
        self.codes: dict[_Code, int] = {}
        self.buffers: list[bytes] = [b""]  # the schema's buffer for tensors without data
        self.numbers: dict[int, int] = {}

    def file(self) -> bytes:
        graphs = [self.graph(graph) for graph in self.network.graphs]
        metadata = [self.metadata(*entry) for entry in self.network.metadata.items()]
        fields = {
            "OperatorCodes": self.offsets([self.code(*code) for code in self.codes]),
            "Subgraphs": self.offsets(graphs),
            "Buffers": self.offsets([self.buffer(data) for data in self.buffers]),
        }
        if metadata:
            fields["Metadata"] = self.offsets(metadata)
        self.builder.Finish(self.table("Model", Version=_VERSION, **fields), IDENTIFIER)
        return bytes(self.builder.Output())

    def table(self, schema: str, **fields: Any) -> int:
        """Add a table through the schema's own functions; None omits a field."""
        _schema(schema, "Start")(self.builder)
        for name, value in fields.items():
            if value is not None:
                _schema(schema, f"Add{name}")(self.builder, value)
        return int(_schema(schema, "End")(self.builder))

    def graph(self, graph: Graph) -> int:
        return self.table(
            "SubGraph",
            Tensors=self.offsets([self.tensor(tensor) for tensor in graph.tensors]),
            Inputs=self.vector(graph.inputs),
            Outputs=self.vector(graph.outputs),
            Operators=self.offsets([self.operator(op) for op in graph.operators]),
            Name=self.text(graph.name),
        )

    def tensor(self, tensor: Tensor) -> int:
        kinds = ENUMERATIONS["TensorType"].names
        if tensor.dtype not in kinds:
            raise UnsupportedError(
                f"'{tensor.name}' is {tensor.dtype}, which a .tflite file cannot have; convert it "
                "to another type"
            )
        data = packed_halves(tensor.data) if tensor.is_packed and tensor.data else tensor.data
        return self.table(
            "Tensor",
            Shape=self.vector(1 if size == -1 else size for size in tensor.shape),
            ShapeSignature=self.vector(tensor.shape) if -1 in tensor.shape else None,
            Type=kinds.index("int4" if tensor.is_packed else tensor.dtype),
            Buffer=self.number(data),
            Name=self.text(tensor.name),
            Quantization=self.quantization(tensor.quantization),
            IsVariable=tensor.is_variable,
        )

    def quantization(self, quantization: Quantization | None) -> int | None:
        if quantization is None:
            return None
        return self.table(
            "QuantizationParameters",
            Scale=self.vector(quantization.scale, "float32"),
            ZeroPoint=self.vector(quantization.zero_point, "int64"),
            QuantizedDimension=quantization.axis,
        )

    def operator(self, operator: Operator) -> int:
        code = (operator.code, operator.custom_code, operator.version)
        custom, inner = operator.custom_options, operator.intermediates
        return self.table(
            "Operator",
            OpcodeIndex=self.codes.setdefault(code, len(self.codes)),
            Inputs=self.vector(operator.inputs),
            Outputs=self.vector(operator.outputs),
            CustomOptions=self.vector(custom, "uint8") if custom else None,
            Intermediates=self.vector(inner) if inner else None,
            **self.options(operator),
        )

    def options(self, operator: Operator) -> dict[str, int]:
        """Add an operator's options; it may have none or only some."""
        table = OPS[operator.code].table
        if table is None or not operator.options:
            return {}
        present = [option for option in table.options if option.name in operator.options]
        values = [self.option(option, operator.options[option.name]) for option in present]
        self.builder.StartObject(1 + max(option.slot for option in table.options))
        for option, value in zip(present, values, strict=True):
            if option.is_vector or option.kind == TEXT:
                self.builder.PrependUOffsetTRelativeSlot(option.slot, value, 0)
                continue
            default = self.option(option, option.default)
            getattr(self.builder, f"Prepend{option.wire.capitalize()}Slot")(
                option.slot, value, default
            )
        offset = int(self.builder.EndObject())
        union = "BuiltinOptions" if table.union == 1 else "BuiltinOptions2"
        return {f"{union}Type": table.number, union: offset}

    def option(self, option: Option, value: Any) -> Any:
        """Return the value of an option's field: a number, or the offset of a vector or string."""
        if option.kind == TEXT:
            return 0 if value is None else self.text(value)
        if option.is_vector:
            return self.vector(value, option.wire) if value else 0
        return option.names.index(value) if option.names else value

    def code(self, code: str, custom_code: str | None, version: int) -> int:
        number = OPS[code].number
        custom = None if custom_code is None else self.text(custom_code)
        return self.table(
            "OperatorCode",
            DeprecatedBuiltinCode=min(number, _GREATEST_OLD_CODE),
            BuiltinCode=number,
            CustomCode=custom,
            Version=version,
        )

    def metadata(self, name: str, data: bytes) -> int:
        return self.table("Metadata", Name=self.text(name), Buffer=self.number(data))

    def number(self, data: bytes | None) -> int:
        """Return the number of the buffer for an object's bytes; add the buffer if it is new."""
        if not data:
            return 0
        if id(data) not in self.numbers:
            self.numbers[id(data)] = len(self.buffers)
            self.buffers.append(data)
        return self.numbers[id(data)]

    def buffer(self, data: bytes) -> int:
        return self.table("Buffer", Data=self.bytes(data)) if data else self.table("Buffer")


def _schema(table: str, function: str) -> Callable[..., Any]:
    builder: Callable[..., Any] = getattr(tflite, f"{table}{function}")
    return builder
