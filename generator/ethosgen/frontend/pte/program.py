"""Decodes ExecuTorch's programs (schema/program.fbs) into plain values; nothing is trusted.

Every index is checked before it is used, and every length before it is walked. Values are not
interpreted here: a program may contain types and instructions that ethosgen lacks.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ethosgen.frontend.flatbuffer import Fields, LengthError
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted

_PROGRAM = {
    "version": 0,
    "plans": 1,
    "constants": 2,
    "inline_delegates": 3,
    "segments": 4,
    "constant_segment": 5,
    "named_data": 7,
}
_PLAN = {"name": 0, "values": 2, "inputs": 3, "outputs": 4, "chains": 5, "operators": 6}
_DELEGATES = 7
_TENSOR = {"type": 0, "sizes": 2, "dim_order": 3, "buffer": 5, "allocation": 6, "dynamism": 8}
_EXTRA = 9
SCHEMA = 0
"""The schema's version."""
_LOCATION = 2
"""Slots of the schema's tables, as far as they are read."""

DTYPES: Mapping[int, str] = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
"""numpy's names of ExecuTorch's scalar types that numpy has (schema/scalar_type.fbs)."""

_HEADER = struct.Struct("<4sIQQQ")
_HEADER_START, _HEADER_MAGIC, _OLD_HEADER_BYTES = 8, b"eh00", 24
"""The extended header: magic, its length, the program's size, where segments start, their size."""

_SEGMENT = 1
"""A delegate's data is in a segment, else inline."""

_STATIC = 0
_EXTERNAL = 1

_KERNEL, _DELEGATE, _MOVE, _JUMP, _FREE = range(1, 6)
"""The union of instructions."""

_MAX_RANK = 16
_LONGEST_NAME = 100


@dataclass(frozen=True)
class TensorValue:
    """A tensor: `sizes` as torch gives them; `dim_order` are its dimensions, outermost first.

    `dtype` is numpy's name, or a number that DTYPES does not have. `data` is a constant's bytes up
    to the end of what stores it. `place` is the memory of a written tensor, and the offset there:
    tensors at the same place are views of each other. `is_state` marks a tensor that also has an
    initial value.
    """

    dtype: str
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    data: bytes | None = field(default=None, repr=False)
    is_static: bool = True
    is_external: bool = False
    is_state: bool = False
    place: tuple[int, int] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in memory."""
        return tuple(self.sizes[i] for i in self.dim_order)

    @property
    def bytes(self) -> int:
        """The size in memory, for a type that DTYPES has."""
        return math.prod(self.sizes) * np.dtype(self.dtype).itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether memory has torch's own order of dimensions."""
        return self.dim_order == tuple(range(len(self.sizes)))


@dataclass(frozen=True)
class Items:
    """A list of other values, by index."""

    of: tuple[int, ...]


Value = TensorValue | Items | int | float | bool | str | tuple[float | bool, ...] | None


@dataclass(frozen=True)
class Delegate:
    """A part of the program for a backend: its data, and its compilation target."""

    backend: str
    data: bytes = field(repr=False)
    specs: Mapping[str, bytes] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class PteInstruction:
    """One instruction.

    `name` is the operator ("aten::view_copy.out"); for a call of a delegate, `delegate` is its
    index. A move has the name MOVE, a jump the name JUMP.
    """

    name: str
    arguments: tuple[int, ...]
    delegate: int | None = None


MOVE, JUMP = "move", "jump"


@dataclass(frozen=True)
class Method:
    """One entry point of a program."""

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    steps: tuple[PteInstruction, ...]
    delegates: tuple[Delegate, ...]

    @property
    def returned(self) -> list[int]:
        """The values that the method returns, by index; a list counts as its elements."""
        returned: list[int] = []
        for index in self.outputs:
            value = self.values[index]
            returned += value.of if isinstance(value, Items) else [index]
        return returned


@dataclass(frozen=True)
class PteProgram:
    """A program: its methods, and the data that delegates refer to by key."""

    methods: tuple[Method, ...]
    named_data: Mapping[str, bytes] = field(default_factory=dict, repr=False)


class ProgramDecoder:
    """Decodes one file; its methods raise InputError or one of flatbuffer.DAMAGE."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._root = Fields.root(data)
        self._base = self._segments_start()
        self._segments = [self._segment(table) for table in self._root.tables(_PROGRAM["segments"])]

    def program(self) -> PteProgram:
        """Return the whole program."""
        version = self._root.number(_PROGRAM["version"], "uint32", 0)
        if version != SCHEMA:
            raise UnsupportedError(
                f"'{self._name}' has ExecuTorch's schema version {version}; this ethosgen reads "
                f"version {SCHEMA}, which releases up to 1.5 write"
            )
        methods = tuple(self._method(plan) for plan in self._root.tables(_PROGRAM["plans"]))
        named = {}
        for entry in self._root.tables(_PROGRAM["named_data"]):
            index = entry.number(1, "uint32", 0)
            named[_name(entry, 0)] = self._at(self._segments, index, "segment")
        return PteProgram(methods, named)

    def _bad(self, what: str) -> InputError:
        return InputError(f"'{self._name}' is damaged: {what}")

    def _at(self, items: Sequence[Any], index: int, what: str) -> Any:
        if not 0 <= index < len(items):
            raise self._bad(f"it refers to {what} {index} of {len(items)}")
        return items[index]

    def _segments_start(self) -> int:
        """Return the offset of the segments by the extended header, else the file's end."""
        head = self._data[_HEADER_START : _HEADER_START + _HEADER.size]
        if head[:4] != _HEADER_MAGIC:
            return len(self._data)
        head = head.ljust(_HEADER.size, b"\0")
        _, length, program_bytes, start, segments_bytes = _HEADER.unpack(head)
        if length < _OLD_HEADER_BYTES:
            raise self._bad(f"its extended header has {counted(length, 'byte')}")
        needed = start + (segments_bytes if length >= _HEADER.size else 0)
        if max(needed, program_bytes) > len(self._data):
            raise InputError(
                f"'{self._name}' is truncated: it needs "
                f"{counted(max(needed, program_bytes), 'byte')} but has {len(self._data)}"
            )
        return int(start)

    def _segment(self, fields: Fields) -> bytes:
        start = self._base + fields.number(0, "uint64", 0)
        return self._piece(start, fields.number(1, "uint64", 0))

    def _piece(self, start: int, size: int) -> bytes:
        if start + size > len(self._data):
            raise InputError(
                f"'{self._name}' is truncated: it needs {counted(start + size, 'byte')} but has "
                f"{len(self._data)}"
            )
        return self._data[start : start + size]

    def _method(self, plan: Fields) -> Method:
        values = tuple(self._value(table) for table in plan.tables(_PLAN["values"]))
        name = _name(plan, _PLAN["name"])
        operators = [self._operator(table) for table in plan.tables(_PLAN["operators"])]
        delegates = tuple(self._delegate(table) for table in plan.tables(_DELEGATES))
        chains = plan.tables(_PLAN["chains"])
        if len(chains) != 1:
            raise self._bad(f"method '{name}' has {counted(len(chains), 'chain')} instead of 1")
        steps = []
        for instruction in chains[0].tables(2):
            step = self._step(instruction, operators, len(delegates))
            if step is not None:
                self._check_indices(step.arguments, len(values))
                steps.append(step)
        inputs = plan.numbers(_PLAN["inputs"], "int32")
        outputs = plan.numbers(_PLAN["outputs"], "int32")
        for indices in (inputs, outputs, *(v.of for v in values if isinstance(v, Items))):
            self._check_indices(indices, len(values))
        return Method(name, values, inputs, outputs, tuple(steps), delegates)

    def _check_indices(self, indices: tuple[int, ...], count: int) -> None:
        for index in indices:
            if not 0 <= index < count:
                raise self._bad(f"it refers to value {index} of {count}")

    def _operator(self, fields: Fields) -> str:
        name, overload = _name(fields, 0), _name(fields, 1)
        return f"{name}.{overload}" if overload else name

    def _delegate(self, fields: Fields) -> Delegate:
        reference = fields.table(1)
        if reference is None:
            raise self._bad("a delegate has no data")
        index = reference.number(1, "uint32", 0)
        if reference.number(0, "int8", 0) == _SEGMENT:
            data = self._at(self._segments, index, "segment")
        else:
            inline = self._root.tables(_PROGRAM["inline_delegates"])
            data = self._at(inline, index, "delegate data").data(0) or b""
        specs = {_name(spec, 0): spec.data(1) or b"" for spec in fields.tables(2)}
        return Delegate(_name(fields, 0), data, specs)

    def _step(
        self, instruction: Fields, operators: list[str], delegates: int
    ) -> PteInstruction | None:
        kind, call = instruction.number(0, "uint8", 0), instruction.table(1)
        if call is None:
            raise self._bad("an instruction is empty")
        if kind == _KERNEL:
            name = self._at(operators, call.number(0, "int32", 0), "operator")
            return PteInstruction(name, call.numbers(1, "int32"))
        if kind == _DELEGATE:
            index = call.number(0, "int32", 0)
            self._at(tuple(range(delegates)), index, "delegate")
            return PteInstruction("delegate", call.numbers(1, "int32"), index)
        if kind == _MOVE:
            return PteInstruction(MOVE, (call.number(0, "int32", 0), call.number(1, "int32", 0)))
        if kind == _JUMP:
            return PteInstruction(JUMP, ())
        if kind == _FREE:
            return None
        raise self._bad(f"an instruction has the kind {kind}")

    def _value(self, fields: Fields) -> Value:
        kind, value = fields.number(0, "uint8", 0), fields.table(1)
        if kind in (0, 1) or value is None:
            return None
        if kind == 5:
            return self._tensor(value)
        if kind == 6:
            return _name(value, 0)
        if kind in (7, 10, 11):
            return self._items(value, "int64" if kind == 7 else "int32", kind == 11)
        plain = {2: "int64", 3: "bool", 4: "float64"}
        if kind in plain:
            return value.number(0, plain[kind], 0)  # type: ignore[no-any-return]
        if kind in (8, 9):
            return value.numbers(0, "float64" if kind == 8 else "bool")
        raise self._bad(f"a value has the kind {kind}")

    def _items(self, value: Fields, wire: str, may_lack: bool) -> Items:
        """Return a list of values; a list of optional values without missing ones."""
        indices = value.numbers(0, wire)
        return Items(tuple(i for i in indices if not (may_lack and i == -1)))

    def _tensor(self, fields: Fields) -> TensorValue:
        sizes = fields.numbers(_TENSOR["sizes"], "int32")
        order = fields.numbers(_TENSOR["dim_order"], "uint8") or tuple(range(len(sizes)))
        if len(sizes) > _MAX_RANK:
            raise self._bad(f"a tensor has {counted(len(sizes), 'dimension')}")
        if sorted(order) != list(range(len(sizes))) or any(size < 0 for size in sizes):
            raise self._bad(f"a tensor has sizes {list(sizes)} in the order {list(order)}")
        kind = fields.number(_TENSOR["type"], "int8", 0)
        buffer = fields.number(_TENSOR["buffer"], "uint32", 0)
        allocation = fields.table(_TENSOR["allocation"])
        is_written = allocation is not None
        extra = fields.table(_EXTRA)
        return TensorValue(
            DTYPES.get(kind, str(kind)),
            sizes,
            tuple(order),
            self._constant(buffer) if buffer and not is_written else None,
            fields.number(_TENSOR["dynamism"], "int8", 0) == _STATIC,
            extra is not None and extra.number(_LOCATION, "int8", 0) == _EXTERNAL,
            bool(buffer) and is_written,
            _place(allocation) if allocation is not None else None,
        )

    def _constant(self, index: int) -> bytes:
        """Return the bytes of a segment or buffer from a constant's first byte on."""
        place = self._root.table(_PROGRAM["constant_segment"])
        offsets = place.numbers(1, "uint64") if place else ()
        if place is None or not offsets:
            inline = self._root.tables(_PROGRAM["constants"])
            return self._at(inline, index, "constant").data(0) or b""
        segment = self._at(self._segments, place.number(0, "uint32", 0), "segment")
        start = self._at(offsets, index, "constant")
        if start > len(segment):
            raise LengthError(f"a constant starts at {start} of {len(segment)}")
        return bytes(segment[start:])


def _place(allocation: Fields) -> tuple[int, int]:
    memory, low, high = (allocation.number(slot, "uint32", 0) for slot in range(3))
    return memory, high << 32 | low


def _name(fields: Fields, slot: int) -> str:
    """Return a text for messages; a damaged one may be very long."""
    return (fields.text(slot) or "")[:_LONGEST_NAME]
