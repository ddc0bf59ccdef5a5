"""Reads .tflite files through the published schema classes.

Nothing in a file is trusted: every length is checked before it is walked, every index before it is
used. The result is complete: shapes are static, constants have the size of their shapes, and an
operator reads only tensors that exist before it runs.

Names are made unique: a tensor without a name is called tensor_INDEX, and a name that an earlier
tensor of the same graph already has gets _INDEX appended. So names always identify inputs and
outputs, and a file with unique names keeps them.

An operator's options are those of its table in ethosgen.values.dialect: all of them, or none if the
file has none. Like TFLite, we ignore options of another operator.
"""

import logging
import math
from typing import Any

import numpy as np
import tflite
from flatbuffers import number_types
from flatbuffers.table import Table

from ethosgen.frontend.flatbuffer import MAX_TENSOR_BYTES, refusing_damage, text_of
from ethosgen.frontend.integrity import check
from ethosgen.frontend.tflite.composites import has_composites, inline_composites
from ethosgen.frontend.tflite.compression import DECODE, expand, is_compressed
from ethosgen.frontend.tflite.detections import give_shapes, lacks_shapes
from ethosgen.frontend.tflite.flexbuffer import read_map
from ethosgen.frontend.tflite.identifier import FORMAT, recognizes
from ethosgen.frontend.tflite.matrices import with_first_scales
from ethosgen.values.dialect import CODES, ENUMERATIONS, OPS, TEXT, WITH_MAP, Op, Option
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.naming import unique_name
from ethosgen.values.network import ABSENT, HANDLE, Graph, Network, Operator, Quantization, Tensor
from ethosgen.values.source import Source

_log = logging.getLogger(__name__)

MAX_RANK = 16
"""More than any TFLite operator supports, which is 8."""

_NO_NUMBERS = frozenset({"string", "variant", "int4", "bfloat16", "complex128"})
"""Types of tensors that no operator computes with; int4 constants are read as int8."""

_TYPES = ENUMERATIONS["TensorType"].names


def parse_network(data: bytes, name: str) -> Network:
    """Parse a .tflite file's bytes; `name` is for messages.

    Raises InputError if the bytes are not an intact .tflite file, and UnsupportedError for dynamic
    shapes. Harmless contradictions are logged as a warning. A file compiled for an NPU is accepted.
    A file compressed by TFLite Micro's tool is expanded, composites are inlined, and detections get
    the shapes that their options define.
    """
    network = decode_network(data, name)
    for sentence in network.contradictions:
        _log.warning("%s", sentence)
    if has_composites(network):
        network = inline_composites(network)
    if is_compressed(network):
        network = expand(network)
    if lacks_shapes(network):
        network = give_shapes(network)
    network = with_first_scales(network)
    check(network)
    return network


def decode_network(data: bytes, name: str) -> Network:
    """Decode any .tflite file, including compiled ones, even if we cannot compile it.

    Raises InputError if the bytes are not an intact .tflite file, UnsupportedError for a tensor
    type that numpy does not have.
    """
    if not data:
        raise InputError(f"'{name}' is empty; pass a .tflite file")
    if not recognizes(data):
        raise InputError(f"'{name}' is not a .tflite file (the identifier TFL3 is missing)")
    with refusing_damage(name, "convert or copy it again"):
        return _TfliteDecoder(data, name).network()


class _TfliteDecoder:
    """Decodes one file; its methods raise InputError or any of DAMAGE."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.stale: list[str] = []
        self.root = tflite.Model.GetRootAs(data, 0)
        self.buffers = [
            self.buffer(self.root.Buffers(i)) for i in self.walk(self.root.BuffersLength())
        ]

    def bad(self, what: str) -> InputError:
        return InputError(f"'{self.name}' is damaged: {what}")

    def walk(self, length: int) -> range:
        """Return the indices of a vector of tables, after checking that the file can contain it."""
        if not 0 <= 4 * length <= len(self.data):
            raise self.bad(f"a list claims {counted(length, 'element')}")
        return range(length)

    def network(self) -> Network:
        if self.root.Version() != 3:
            raise self.bad(f"schema version {self.root.Version()} is not 3")
        codes = [
            self.code(self.root.OperatorCodes(i))
            for i in self.walk(self.root.OperatorCodesLength())
        ]
        graphs = tuple(
            self.graph(self.root.Subgraphs(i), codes)
            for i in self.walk(self.root.SubgraphsLength())
        )
        if not graphs:
            raise self.bad("it has no subgraph")
        metadata = {}
        for i in self.walk(self.root.MetadataLength()):
            entry = self.root.Metadata(i)
            metadata[text_of(entry.Name())] = self.at(self.buffers, entry.Buffer(), "buffer") or b""
        source = Source(FORMAT, self.name, self.data)
        stale = self.contradictions()
        return Network(self.name, graphs, metadata, source, True, contradictions=stale)

    def contradictions(self) -> tuple[str, ...]:
        """Return a sentence about each kind of harmless contradiction."""
        if not self.stale:
            return ()
        return (
            f"in '{self.name}' the shape_signature of {counted(len(self.stale), 'tensor')} "
            f"contradicts the shape, first {self.stale[0]}; the shapes are used, as TFLite does",
        )

    def at(self, items: list[Any] | tuple[Any, ...], index: int, what: str) -> Any:
        if not 0 <= index < len(items):
            raise self.bad(f"it refers to {what} {index} of {len(items)}")
        return items[index]

    def buffer(self, table: Any) -> bytes | None:
        """Return a buffer's bytes, None if it is empty; large files store some after the tables."""
        if table.Offset() > 1:
            start, length = table.Offset(), table.Size()
        elif table.DataLength():
            length = table.DataLength()
            start = table._tab.Vector(table._tab.Offset(4))
        else:
            return None
        if start + length > len(self.data):
            raise InputError(
                f"'{self.name}' is truncated: it needs {counted(start + length, 'byte')} but has "
                f"{len(self.data)}"
            )
        return self.data[start : start + length]

    def code(self, table: Any) -> tuple[str, str | None, int]:
        number = max(table.DeprecatedBuiltinCode(), _plain_builtin_code(table))
        if number not in CODES:
            raise UnsupportedError(
                f"'{self.name}' uses operator code {number}, which this version does not support"
            )
        custom = table.CustomCode()
        return CODES[number], None if custom is None else text_of(custom), table.Version()

    def graph(self, table: Any, codes: list[tuple[str, str | None, int]]) -> Graph:
        tensors: list[Tensor] = []
        taken: set[str] = set()
        encoded = self.encoded(table, codes)
        for i in self.walk(table.TensorsLength()):
            tensors.append(self.tensor(table.Tensors(i), i, taken, i in encoded))
        count = len(tensors)
        return Graph(
            text_of(table.Name()),
            tuple(tensors),
            tuple(
                self.operator(table.Operators(i), i, codes, count)
                for i in self.walk(table.OperatorsLength())
            ),
            self.indices(table, "Inputs", count),
            self.indices(table, "Outputs", count),
        )

    def encoded(self, table: Any, codes: list[tuple[str, str | None, int]]) -> set[int]:
        """Return the compressed constants, which keep their original scales."""
        operators = [table.Operators(i) for i in self.walk(table.OperatorsLength())]
        decode = [
            op for op in operators if self.at(codes, op.OpcodeIndex(), "operator code")[1] == DECODE
        ]
        return {i for op in decode for i in self.numbers(op, "Inputs")}

    def numbers(self, table: Any, field: str) -> tuple[Any, ...]:
        """Return a vector of numbers; numpy refuses one that exceeds the file."""
        if not getattr(table, f"{field}Length")():
            return ()
        return tuple(getattr(table, f"{field}AsNumpy")().tolist())

    def indices(self, table: Any, field: str, count: int, absent: bool = False) -> tuple[int, ...]:
        numbers = self.numbers(table, field)
        for index in numbers:
            if not (0 <= index < count or (absent and index == ABSENT)):
                raise self.bad(f"it refers to tensor {index} of {count}")
        return numbers

    def tensor(self, table: Any, index: int, taken: set[str], is_encoded: bool) -> Tensor:
        name = unique_name(text_of(table.Name()), index, taken)
        data, kind = self.at(self.buffers, table.Buffer(), "buffer"), table.Type()
        if table.Sparsity() is not None:
            raise UnsupportedError(
                f"constant '{name}' of '{self.name}' is stored sparse, which TFLite Micro does not "
                "support either; convert the network again without pruning's sparse encoding"
            )
        dtype = _TYPES[kind] if 0 <= kind < len(_TYPES) else str(kind)
        is_packed = dtype == "int4" and data is not None
        if is_packed:
            data, dtype = _unpack_int4(data, self.numbers(table, "Shape")), "int8"
        if dtype not in _TYPES or dtype in _NO_NUMBERS:
            raise UnsupportedError(
                f"tensor '{name}' of '{self.name}' has the type {dtype.upper()}, which is not "
                "supported; "
                + (
                    "turn text into numbers before the network"
                    if dtype == "string"
                    else "convert the network with int8 or int16 quantization"
                )
            )
        if table.ShapeLength() > MAX_RANK or table.ShapeSignatureLength() > MAX_RANK:
            raise self.bad(f"tensor '{name}' has {counted(table.ShapeLength(), 'dimension')}")
        shape = self.numbers(table, "Shape")
        signature = self.numbers(table, "ShapeSignature")
        tensor = Tensor(
            index,
            name,
            self.static(shape, signature, name),
            dtype,
            None if is_encoded else self.quantization(table.Quantization(), shape, name, dtype),
            data,
            bool(table.IsVariable()),
            is_packed,
        )
        return self.checked(tensor)

    def static(
        self, shape: tuple[int, ...], signature: tuple[int, ...], name: str
    ) -> tuple[int, ...]:
        """Return the shape if it is static, with -1 for the sizes that the converter left open.

        A converter writes 1 into the shape for each open size. TFLite's interpreters ignore the
        signature, so one that contradicts the shape is ignored here too. An open first dimension is
        a batch, which TFLite and Vela both assume to be 1.
        """
        if any(size < ABSENT for size in shape + signature) or ABSENT in shape:
            raise self.bad(f"tensor '{name}' has a negative shape {list(shape)}")
        if not signature:
            return shape
        open_sizes = {i for i, size in enumerate(signature) if size == ABSENT}
        if len(signature) != len(shape) or any(
            size != (1 if i in open_sizes else signature[i]) for i, size in enumerate(shape)
        ):
            self.stale.append(f"'{name}' ({list(shape)}, signature {list(signature)})")
            return shape
        return tuple(-1 if i in open_sizes - {0} else size for i, size in enumerate(shape))

    def quantization(
        self, table: Any, shape: tuple[int, ...], name: str, dtype: str
    ) -> Quantization | None:
        if table is None or not table.ScaleLength():
            return None
        scales = self.numbers(table, "Scale")
        points = self.numbers(table, "ZeroPoint") or (0,) * len(scales)
        axis = int(table.QuantizedDimension())
        if not all(math.isfinite(scale) and scale >= 0 for scale in scales):
            raise self.bad(f"tensor '{name}' has a scale that is not a positive number")
        if dtype != HANDLE and np.dtype(dtype).kind in "iu":
            info = np.iinfo(dtype)
            if not info.min <= min(points) <= max(points) <= info.max:
                raise self.bad(f"tensor '{name}' has a zero point outside {dtype}")
        if len(points) not in (1, len(scales)):
            raise self.bad(
                f"tensor '{name}' has {counted(len(scales), 'scale')} and "
                f"{counted(len(points), 'zero point')}"
            )
        is_one = len(set(scales)) == len(set(points)) == 1
        if len(scales) > 1 and is_one and shape[axis : axis + 1] == (1,):
            # Vela gets a single channel's scale twice (offload/rewording.py), and returns it so.
            return Quantization(scales[:1], points[:1])
        if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
            # Older converters give a bias the axis of its weights.
            if len(scales) not in shape:
                raise self.bad(
                    f"tensor '{name}' has {counted(len(scales), 'scale')} for shape {list(shape)}"
                )
            axis = shape.index(len(scales))
        if len(points) < len(scales):
            points *= len(scales)
        return Quantization(scales, points, axis)

    def checked(self, tensor: Tensor) -> Tensor:
        if -1 in tensor.shape:
            return tensor
        if tensor.bytes > MAX_TENSOR_BYTES:
            raise InputError(
                f"tensor '{tensor.name}' of '{self.name}' takes {tensor.bytes >> 20} MiB, but the "
                f"limit is {MAX_TENSOR_BYTES >> 20}; is the file damaged?"
            )
        if tensor.data is not None and len(tensor.data) != tensor.bytes:
            raise self.bad(
                f"constant '{tensor.name}' has {counted(len(tensor.data), 'byte')} instead "
                f"of {tensor.bytes}"
            )
        return tensor

    def operator(
        self, table: Any, index: int, codes: list[tuple[str, str | None, int]], count: int
    ) -> Operator:
        code, custom_code, version = self.at(codes, table.OpcodeIndex(), "operator code")
        custom = bytes(table.CustomOptionsAsNumpy() if table.CustomOptionsLength() else b"")
        is_map = custom_code in WITH_MAP
        return Operator(
            index,
            code,
            self.indices(table, "Inputs", count, absent=True),
            self.indices(table, "Outputs", count),
            custom_code,
            self.map_of(custom) if is_map else self.options(table, OPS[code]),
            custom,
            self.indices(table, "Intermediates", count),
            version,
        )

    def map_of(self, data: bytes) -> dict[str, Any]:
        """Return a custom operator's options: names with numbers, booleans or strings."""
        options = read_map(data)
        if options is None:
            raise self.bad("the options of a custom operator are not a map of plain values")
        return options

    def options(self, table: Any, op: Op) -> dict[str, Any]:
        """Return an operator's options, none if the file has none or another operator's."""
        if op.table is None:
            return {}
        if op.table.union == 1:
            kind, union = table.BuiltinOptionsType(), table.BuiltinOptions()
        else:
            kind, union = table.BuiltinOptions2Type(), table.BuiltinOptions2()
        if kind != op.table.number or union is None:
            return {}
        return {option.name: self.option(union, option) for option in op.table.options}

    def option(self, table: Table, option: Option) -> Any:
        """Return an option; vectors become tuples, numbers of an enumeration their names."""
        place = table.Offset(4 + 2 * option.slot)
        if not place:
            return option.default
        if option.kind == TEXT:
            return text_of(table.String(table.Pos + place))
        flags = getattr(number_types, f"{option.wire.capitalize()}Flags")
        if option.is_vector:
            return tuple(table.GetVectorAsNumpy(flags, place).tolist())
        value = table.Get(flags, table.Pos + place)
        if not option.names:
            return value
        if not 0 <= value < len(option.names):
            raise self.bad(f"an operator has {option.name} {value}")
        return option.names[value]


def _plain_builtin_code(table: Any) -> int:
    """Return an operator code's raw field builtin_code.

    The package's own getter returns the deprecated field if this one is below 127, so it would read
    a file that sets only this one as ADD. TFLite uses the larger of both (GetBuiltinCode).
    """
    place = table._tab.Offset(10)
    return int(table._tab.Get(number_types.Int32Flags, table._tab.Pos + place)) if place else 0


def _unpack_int4(data: bytes, shape: tuple[int, ...]) -> bytes:
    """Unpack 4-bit values, two per byte, the lower half first, to int8.

    TFLite computes with them in the same way: only weights have this type.
    """
    pairs = np.frombuffer(data, np.int8)
    values = np.stack([np.left_shift(pairs, 4) >> 4, pairs >> 4], axis=1).tobytes()
    return values[:-1] if math.prod(shape) % 2 else values
