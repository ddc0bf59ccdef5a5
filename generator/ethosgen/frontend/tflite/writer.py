"""Writes networks as .tflite files: the one place that does.

A file that was given and not edited stays as it is (`file_of`): nobody gets a copy of it. A file
that is written has what our values carry. It leaves out what no reader of ours, Vela's or TFLite
Micro's computes with:

- the description, and the names that signatures give to inputs and outputs
- min and max of quantized tensors: what the trainer saw
- shape signatures, but for sizes that are open
- details of custom quantization, which Vela and TFLite Micro do not know either
- buffers and operator codes that nothing uses
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite

from ethosgen.values.dialect import ENUMERATIONS, OPS, TEXT, Option
from ethosgen.values.model import Graph, Model, Operator, Quantization, Tensor

IDENTIFIER = b"TFL3"
_VERSION = 3
_ALIGNMENT = 16
"""Of buffers' data, as the schema asks."""
_GREATEST_OLD_CODE = 127
"""In the older, narrower field of operator codes, this stands for all that do not fit."""
_ROOM = 1 << 16
"""Bytes for all but constants, to begin with."""

_Code = tuple[str, str | None, int]


def file_of(model: Model) -> bytes:
    """Return the bytes of the file that a network was read from, or new ones if it was edited."""
    return write_model(model) if model.data is None else model.data


def write_model(model: Model) -> bytes:
    """Return a .tflite file that says what the model's values say.

    Tensors whose constants are one object share a buffer, as they did in the file they are from:
    Vela encodes what is shared only once. Anything can be written, sense or not: readers check.
    """
    return _Writer(model).file()


class _Writer:
    """One file being written; offsets of parts come from the methods that add them."""

    def __init__(self, model: Model) -> None:
        self.model = model
        constants = [t.data for graph in model.graphs for t in graph.tensors if t.data]
        size = sum(map(len, [*constants, *model.metadata.values()]))
        self.builder = flatbuffers.Builder(size + _ROOM)
        self.codes: dict[_Code, int] = {}
        self.buffers: list[bytes] = [b""]  # which is the schema's for tensors without data
        self.numbers: dict[int, int] = {}

    def file(self) -> bytes:
        graphs = [self.graph(graph) for graph in self.model.graphs]
        metadata = [self.metadata(*entry) for entry in self.model.metadata.items()]
        fields = {
            "OperatorCodes": self.tables([self.code(*code) for code in self.codes]),
            "Subgraphs": self.tables(graphs),
            "Buffers": self.tables([self.buffer(data) for data in self.buffers]),
        }
        if metadata:
            fields["Metadata"] = self.tables(metadata)
        self.builder.Finish(self.table("Model", Version=_VERSION, **fields), IDENTIFIER)
        return bytes(self.builder.Output())

    def table(self, schema: str, **fields: Any) -> int:
        """Add a table through the schema's own functions; None leaves a field out."""
        _schema(schema, "Start")(self.builder)
        for name, value in fields.items():
            if value is not None:
                _schema(schema, f"Add{name}")(self.builder, value)
        return int(_schema(schema, "End")(self.builder))

    def tables(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def vector(self, values: Iterable[Any], dtype: str = "int32") -> int:
        return int(self.builder.CreateNumpyVector(np.array(list(values), dtype)))

    def graph(self, graph: Graph) -> int:
        return self.table(
            "SubGraph",
            Tensors=self.tables([self.tensor(tensor) for tensor in graph.tensors]),
            Inputs=self.vector(graph.inputs),
            Outputs=self.vector(graph.outputs),
            Operators=self.tables([self.operator(op) for op in graph.operators]),
            Name=self.builder.CreateString(graph.name),
        )

    def tensor(self, tensor: Tensor) -> int:
        kinds = ENUMERATIONS["TensorType"].names
        data = _packed(tensor.data) if tensor.is_packed and tensor.data else tensor.data
        return self.table(
            "Tensor",
            Shape=self.vector(1 if size == -1 else size for size in tensor.shape),
            ShapeSignature=self.vector(tensor.shape) if -1 in tensor.shape else None,
            Type=kinds.index("int4" if tensor.is_packed else tensor.dtype),
            Buffer=self.number(data),
            Name=self.builder.CreateString(tensor.name),
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
        """Add an operator's options, which it may have none of or only some."""
        table = OPS[operator.code].table
        if table is None or not operator.options:
            return {}
        given = [option for option in table.options if option.name in operator.options]
        values = [self.option(option, operator.options[option.name]) for option in given]
        self.builder.StartObject(1 + max(option.slot for option in table.options))
        for option, value in zip(given, values, strict=True):
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
        """Return what an option's field has: a number, or the offset of a vector or string."""
        if option.kind == TEXT:
            return 0 if value is None else self.builder.CreateString(value)
        if option.is_vector:
            return self.vector(value, option.wire) if value else 0
        return option.names.index(value) if option.names else value

    def code(self, code: str, custom_code: str | None, version: int) -> int:
        number = OPS[code].number
        custom = None if custom_code is None else self.builder.CreateString(custom_code)
        return self.table(
            "OperatorCode",
            DeprecatedBuiltinCode=min(number, _GREATEST_OLD_CODE),
            BuiltinCode=number,
            CustomCode=custom,
            Version=version,
        )

    def metadata(self, name: str, data: bytes) -> int:
        return self.table(
            "Metadata", Name=self.builder.CreateString(name), Buffer=self.number(data)
        )

    def number(self, data: bytes | None) -> int:
        """Return the number of the buffer that has, or will have, an object's bytes."""
        if not data:
            return 0
        if id(data) not in self.numbers:
            self.numbers[id(data)] = len(self.buffers)
            self.buffers.append(data)
        return self.numbers[id(data)]

    def buffer(self, data: bytes) -> int:
        if not data:
            return self.table("Buffer")
        self.builder.StartVector(1, len(data), _ALIGNMENT)
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        return self.table("Buffer", Data=self.builder.EndVector())


def _schema(table: str, function: str) -> Callable[..., Any]:
    made: Callable[..., Any] = getattr(tflite, f"{table}{function}")
    return made


def _packed(values: bytes) -> bytes:
    """Return int8 values of 4 bits as int4: two in a byte, the first in its lower half."""
    halves = np.frombuffer(values + bytes(len(values) % 2), np.uint8) & 0xF
    return (halves[::2] | halves[1::2] << 4).astype(np.uint8).tobytes()
