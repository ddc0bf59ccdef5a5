"""Writes ExecuTorch programs from the schema (schema/program.fbs), for tests.

It shares nothing with the reader: tables are written by slot, in the order of the schema.
"""

import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np

TYPES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6}
TYPES |= {"float64": 7, "bool": 11, "bfloat16": 15}

_NULL, _INT, _BOOL, _DOUBLE, _TENSOR, _STRING, _INT_LIST = range(1, 8)
_TENSOR_LIST = 10
_KERNEL, _DELEGATE, _MOVE, _JUMP = range(1, 5)

_PORT = ("shape", "elem_size", "offset", "region")
"""What Vela's raw output says about an input or output."""


class ProgramFile:
    """A program with one method, as it is put together; values are known by their index."""

    def __init__(self) -> None:
        self._values: list[tuple[int, dict[str, Any]]] = []
        self._steps: list[tuple[int, tuple[int, ...]]] = []
        self._operators: list[str] = []
        self._delegates: list[tuple[str, bytes, dict[str, bytes]]] = []
        self._constants: list[bytes] = [b""]
        self.named_data: dict[str, bytes] = {}
        self.constant_methods: dict[str, float] = {}
        """Methods that return a number, as QuantizeInputs adds them."""

    def _value(self, kind: int, **fields: Any) -> int:
        self._values.append((kind, fields))
        return len(self._values) - 1

    def none(self) -> int:
        return self._value(_NULL)

    def integer(self, value: int) -> int:
        return self._value(_INT, number=value)

    def real(self, value: float) -> int:
        return self._value(_DOUBLE, number=value)

    def integers(self, values: Sequence[int]) -> int:
        """Add a list of integers, which refers to other values."""
        return self._value(_INT_LIST, items=[self.integer(value) for value in values])

    def tensors(self, indices: Sequence[int]) -> int:
        return self._value(_TENSOR_LIST, items=list(indices))

    def tensor(
        self,
        sizes: Sequence[int],
        dtype: str = "int8",
        order: Sequence[int] | None = None,
        data: bytes | None = None,
        view_of: int | None = None,
        **more: Any,
    ) -> int:
        """Add a tensor, a constant if it has data; `more` are dynamism, location and is_state.

        Each has a place of its own in memory, unless it is a view of another.
        """
        if data is not None:
            self._constants.append(data)
        buffer = len(self._constants) - 1 if data is not None else 0
        order = range(len(sizes)) if order is None else order
        fields = {"sizes": list(sizes), "order": list(order), "dtype": dtype, "buffer": buffer}
        place = len(self._values) << 12
        fields["place"] = place if view_of is None else self._values[view_of][1]["place"]
        return self._value(_TENSOR, **fields, **more)

    def kernel(self, name: str, *arguments: int) -> None:
        if name not in self._operators:
            self._operators.append(name)
        self._steps.append((_KERNEL, (self._operators.index(name), *arguments)))

    def quantize(
        self, x: int, y: int, scale: float, point: int, dtype: str = "int8", name: str = ""
    ) -> None:
        info = np.iinfo(dtype)
        numbers = [self.real(scale), *map(self.integer, (point, int(info.min), int(info.max)))]
        name = name or "quantized_decomposed::quantize_per_tensor.out"
        self.kernel(name, x, *numbers, self.integer(TYPES[dtype]), y, y)

    def dequantize(
        self, x: int, y: int, scale: float, point: int, dtype: str = "int8", name: str = ""
    ) -> None:
        info = np.iinfo(dtype)
        numbers = [self.real(scale), *map(self.integer, (point, int(info.min), int(info.max)))]
        name = name or "quantized_decomposed::dequantize_per_tensor.out"
        last = [self.none()] if name.startswith("quantized") else []
        self.kernel(name, x, *numbers, self.integer(TYPES[dtype]), *last, y, y)

    def call(
        self,
        stream: bytes,
        *arguments: int,
        backend: str = "EthosUBackend",
        specs: dict[str, bytes] | None = None,
    ) -> None:
        """Add a delegate and its call with inputs, then outputs."""
        self._delegates.append((backend, stream, specs or {}))
        self._steps.append((_DELEGATE, (len(self._delegates) - 1, *arguments)))

    def move(self, source: int, target: int) -> None:
        self._steps.append((_MOVE, (source, target)))

    def jump(self, condition: int) -> None:
        self._steps.append((_JUMP, (condition, 0)))

    def build(
        self,
        inputs: Sequence[int],
        outputs: Sequence[int],
        *,
        name: str = "forward",
        segments: bool = False,
        version: int = 0,
    ) -> bytes:
        """Return the file; with `segments`, delegates and constants are behind the program."""
        return _Writer(self, segments).file(name, inputs, outputs, version)

    # What the writer reads.
    values = property(lambda self: self._values)
    steps = property(lambda self: self._steps)
    operators = property(lambda self: self._operators)
    delegates = property(lambda self: self._delegates)
    constants = property(lambda self: self._constants)


class _Writer:
    """Writes one file."""

    def __init__(self, program: ProgramFile, segments: bool) -> None:
        self.program = program
        self.builder = flatbuffers.Builder(1024)
        self.segments: list[bytes] = []
        self.constant_offsets: list[int] = []
        if segments:
            self._fill_segments()
        self.has_segments = segments
        self.named = [(key, self._segment(data)) for key, data in program.named_data.items()]

    def _segment(self, data: bytes) -> int:
        self.segments.append(data)
        return len(self.segments) - 1

    def _fill_segments(self) -> None:
        self.constant_offsets, joined = [], b""
        for data in self.program.constants:
            self.constant_offsets.append(len(joined))
            joined += data + bytes(-len(data) % 16)
        self._segment(joined)
        for _, data, _ in self.program.delegates:
            self._segment(data)

    def file(self, name: str, inputs: Sequence[int], outputs: Sequence[int], version: int) -> bytes:
        plan = self.plan(name, inputs, outputs)
        constants = [] if self.has_segments else self.program.constants
        inline = [] if self.has_segments else [data for _, data, _ in self.program.delegates]
        places, start = [], 0
        for data in self.segments:
            places.append((start, len(data)))
            start += len(data) + -len(data) % 16
        fields: dict[int, Any] = {
            0: ("Uint32", version),
            1: self.vector([plan, *self.constant_methods()]),
            2: self.vector([self.table({0: self.bytes(data)}) for data in constants]),
            3: self.vector([self.table({0: self.bytes(data)}) for data in inline]),
            4: self.vector(
                [self.table({0: ("Uint64", at), 1: ("Uint64", size)}) for at, size in places]
            ),
            7: self.vector(
                [self.table({0: self.text(k), 1: ("Uint32", index)}) for k, index in self.named]
            ),
        }
        if self.has_segments:
            offsets = self.numbers(self.constant_offsets, "uint64")
            fields[5] = self.table({0: ("Uint32", 0), 1: offsets})
        root = self.table(fields)
        self.builder.Finish(root, b"ET12")
        program = bytes(self.builder.Output())
        return self.with_header(program) if self.segments else program

    def with_header(self, program: bytes) -> bytes:
        """Insert the extended header after the identifier, and append the segments."""
        (root,) = struct.unpack_from("<I", program)
        size = len(program) + 32
        base = size + -size % 16
        body = b"".join(data + bytes(-len(data) % 16) for data in self.segments)
        header = struct.pack("<4sIQQQ", b"eh00", 32, size, base, len(body))
        head = struct.pack("<I", root + 32) + program[4:8] + header
        return (head + program[8:]).ljust(base, b"\0") + body

    def plan(self, name: str, inputs: Sequence[int], outputs: Sequence[int]) -> int:
        program = self.program
        chain = self.table({2: self.vector([self.step(*step) for step in program.steps])})
        fields: dict[int, Any] = {
            0: self.text(name),
            2: self.vector([self.value(*value) for value in program.values]),
            3: self.numbers(inputs, "int32"),
            4: self.numbers(outputs, "int32"),
            5: self.vector([chain]),
            6: self.vector([self.operator(operator) for operator in program.operators]),
            7: self.vector([self.delegate(i) for i in range(len(program.delegates))]),
        }
        return self.table(fields)

    def constant_methods(self) -> list[int]:
        methods = []
        for name, number in self.program.constant_methods.items():
            value = self.value(_INT if isinstance(number, int) else _DOUBLE, {"number": number})
            fields: dict[int, Any] = {
                0: self.text(name),
                2: self.vector([value]),
                4: self.numbers([0], "int32"),
                5: self.vector([self.table({2: self.vector([])})]),
            }
            methods.append(self.table(fields))
        return methods

    def operator(self, name: str) -> int:
        plain, _, overload = name.partition(".")
        return self.table({0: self.text(plain), 1: self.text(overload)})

    def delegate(self, index: int) -> int:
        backend, _, specs = self.program.delegates[index]
        place = index + 1 if self.has_segments else index
        reference = self.table({0: ("Int8", int(self.has_segments)), 1: ("Uint32", place)})
        options = [self.table({0: self.text(k), 1: self.bytes(v)}) for k, v in specs.items()]
        return self.table({0: self.text(backend), 1: reference, 2: self.vector(options)})

    def step(self, kind: int, numbers: tuple[int, ...]) -> int:
        first, *rest = numbers
        if kind in (_KERNEL, _DELEGATE):
            inner = self.table({0: ("Int32", first), 1: self.numbers(rest, "int32")})
        else:
            inner = self.table({0: ("Int32", first), 1: ("Int32", rest[0])})
        return self.table({0: ("Uint8", kind), 1: inner})

    def value(self, kind: int, fields: dict[str, Any]) -> int:
        inner: dict[int, Any] = {}
        if kind in (_INT, _DOUBLE):
            inner = {0: ("Int64" if kind == _INT else "Float64", fields["number"])}
        elif kind in (_INT_LIST, _TENSOR_LIST):
            inner = {0: self.numbers(fields["items"], "int64" if kind == _INT_LIST else "int32")}
        elif kind == _TENSOR:
            inner = self.tensor(**fields)
        return self.table({0: ("Uint8", kind), 1: self.table(inner)})

    def tensor(
        self,
        sizes: list[int],
        order: list[int],
        dtype: str,
        buffer: int,
        place: int,
        dynamism: int = 0,
        location: int = 0,
        is_state: bool = False,
    ) -> dict[int, Any]:
        fields: dict[int, Any] = {
            0: ("Int8", TYPES[dtype]),
            2: self.numbers(sizes, "int32"),
            3: self.numbers(order, "uint8"),
            5: ("Uint32", buffer),
            8: ("Int8", dynamism),
        }
        if not buffer or is_state:
            fields[6] = self.table({0: ("Uint32", 1), 1: ("Uint32", place)})
        if location:
            fields[9] = self.table({2: ("Int8", location)})
        return fields

    def table(self, fields: dict[int, Any]) -> int:
        """Write a table: an offset, or a type and a number, for each slot."""
        self.builder.StartObject(max(fields, default=-1) + 1)
        for slot, field in fields.items():
            if isinstance(field, tuple):
                kind, number = field
                getattr(self.builder, f"Prepend{kind}")(number)
                self.builder.Slot(slot)
            else:
                self.builder.PrependUOffsetTRelativeSlot(slot, field, 0)
        return int(self.builder.EndObject())

    def vector(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def numbers(self, values: Sequence[int], dtype: str) -> int:
        return int(self.builder.CreateNumpyVector(np.array(list(values), dtype)))

    def bytes(self, data: bytes) -> int:
        return int(self.builder.CreateByteVector(data))

    def text(self, text: str) -> int:
        return int(self.builder.CreateString(text))


_RAW = ["cmd_data", "weight_data", "scratch_shape"]
_RAW += [f"{port}_{what}" for port in ("input", "output") for what in _PORT]


def vela_stream(
    raw: Path, *, dimensions: int = 6, external: dict[str, str] | None = None, **changed: bytes
) -> bytes:
    """Return the vela_bin_stream of Vela's raw output, as ExecuTorch's arm_vela.py packs it.

    `external` gives blocks the key of their data in the program; `changed` replaces blocks, or
    adds them.
    """
    with np.load(raw) as arrays:
        outputs = {name: arrays[name] for name in _RAW}
    blocks = {
        "vela_bin_stream": b"",
        "cmd_data": outputs["cmd_data"].tobytes(),
        "weight_data": outputs["weight_data"].tobytes(),
        "scratch_size": struct.pack("<I", int(outputs["scratch_shape"][0])),
        "inputs": _ports(outputs, "input", dimensions),
        "outputs": _ports(outputs, "output", dimensions),
    }
    blocks |= changed
    return packed_blocks({**blocks, "vela_end_stream": b""}, external or {})


def packed_blocks(blocks: dict[str, bytes], external: dict[str, str]) -> bytes:
    """Return a vela_bin_stream of blocks."""
    packed = b""
    for name, block in blocks.items():
        content = external[name].encode() if name in external else block
        header = struct.pack("<16sIB11x", name.encode(), len(content), name in external)
        packed += header + content + bytes(-len(content) % 16)
    return packed


def _ports(outputs: dict[str, np.ndarray[Any, Any]], kind: str, dimensions: int) -> bytes:
    shapes = outputs[f"{kind}_shape"]
    packed = struct.pack("<i", len(shapes))
    for index, shape in enumerate(shapes):
        numbers = [*shape.tolist()[-dimensions:]]
        numbers += [int(outputs[f"{kind}_{what}"][index]) for what in ("elem_size", "offset")]
        packed += struct.pack(
            f"<{dimensions + 3}i", *numbers, int(outputs[f"{kind}_region"][index])
        )
    return packed


def compile_raw(folder: Path, network: bytes, npu: str, *options: str) -> Path:
    """Compile a .tflite file with Vela's own command line; return its raw output (.npz)."""
    (folder / "net.tflite").write_bytes(network)
    vela = Path(sys.executable).with_name("vela")
    command = [str(vela), "net.tflite", "--accelerator-config", npu, "--output-format", "raw"]
    command += ["--output-dir", "raw", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "raw" / "net_vela.npz"
