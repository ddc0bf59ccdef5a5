"""Reads flatbuffers by slot, without generated classes, and writes their vectors.

Nothing in a file is trusted.

A damaged file raises one of DAMAGE, in the package flatbuffers or here; `is_damage` distinguishes
such an exception from a bug of ours.
"""

import struct
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flatbuffers
import numpy as np
from flatbuffers import number_types
from flatbuffers.encode import Get
from flatbuffers.packer import uoffset
from flatbuffers.table import Table

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted

DAMAGE = (struct.error, IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError)
"""The errors of the flatbuffers package for an invalid offset or length."""

MAX_TENSOR_BYTES = 1 << 28
"""More than any Cortex-M's memory; Vela hangs on tensors that are much larger."""

_WIDTH = 4
"""Bytes of an offset."""
_ROOM = 1 << 16
"""Initial size of a written file in bytes, for everything except constants."""


class LengthError(ValueError):
    """A vector that is longer than its file."""


def is_damage(error: BaseException) -> bool:
    """Return whether an exception comes from reading beyond the file, not from a bug of ours."""
    if isinstance(error, LengthError):
        return True
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__")).startswith("flatbuffers.")


@contextmanager
def refusing_damage(name: str, remedy: str) -> Iterator[None]:
    """Raise InputError, which names the file and the remedy, if reading leaves the file."""
    try:
        yield
    except DAMAGE as error:
        if not is_damage(error):
            raise
        words = f": {error}" if isinstance(error, LengthError) else ""
        raise InputError(
            f"'{name}' is truncated or damaged: its tables point outside the file{words}; {remedy}"
        ) from None


def text_of(raw: bytes | None) -> str:
    """Decode a name; replace unprintable characters, which would break messages and lines."""
    decoded = (raw or b"").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in decoded)


def flags_of(wire: str) -> Any:
    """Return the package's description of a type of numbers, such as int32."""
    return getattr(number_types, f"{wire.capitalize()}Flags")


class Fields:
    """A table of a file; its methods get the slot of a field, and raise any of DAMAGE."""

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._table = Table(data, place)

    @classmethod
    def root(cls, data: bytes) -> "Fields":
        """Return the root table of a file."""
        return cls(data, Get(uoffset, data, 0))

    def number(self, slot: int, wire: str, default: Any) -> Any:
        """Return a number of the type `wire`."""
        place = self._place(slot)
        return self._table.Get(flags_of(wire), place) if place else default

    def text(self, slot: int) -> str | None:
        """Return a string, None if there is none."""
        place = self._place(slot)
        return text_of(self._table.String(place)) if place else None

    def numbers(self, slot: int, wire: str) -> tuple[Any, ...]:
        """Return a vector of numbers."""
        if not self._place(slot):
            return ()
        offset = self._place(slot) - self._table.Pos
        return tuple(self._table.GetVectorAsNumpy(flags_of(wire), offset).tolist())

    def data(self, slot: int) -> bytes | None:
        """Return a vector of bytes, None if there is none."""
        start, count = self._vector(slot, 1)
        return self._data[start : start + count] if start else None

    def texts(self, slot: int) -> list[str]:
        """Return a vector of strings."""
        start, count = self._vector(slot, _WIDTH)
        return [text_of(self._table.String(start + _WIDTH * i)) for i in range(count)]

    def tables(self, slot: int) -> list["Fields"]:
        """Return a vector of tables."""
        start, count = self._vector(slot, _WIDTH)
        places = (start + _WIDTH * i for i in range(count))
        return [Fields(self._data, self._table.Indirect(place)) for place in places]

    def table(self, slot: int) -> "Fields | None":
        """Return a table, None if there is none; a union's value is one, too."""
        place = self._place(slot)
        return Fields(self._data, self._table.Indirect(place)) if place else None

    def _place(self, slot: int) -> int:
        """Return the offset of a field, 0 if the table lacks it."""
        offset = int(self._table.Offset(4 + 2 * slot))
        return self._table.Pos + offset if offset else 0

    def _vector(self, slot: int, size: int) -> tuple[int, int]:
        """Return the offset and number of a vector's elements of `size` bytes."""
        place = self._place(slot)
        if not place:
            return 0, 0
        offset = place - self._table.Pos
        start, count = int(self._table.Vector(offset)), int(self._table.VectorLen(offset))
        if start + size * count > len(self._data):
            raise LengthError(f"a list claims {counted(count, 'element')}")
        return start, count


class VectorWriter:
    """Adds strings and vectors to a file; the methods return their offsets.

    `size` is that of all constants, and `alignment` the schema's alignment of their bytes.
    """

    def __init__(self, size: int, alignment: int) -> None:
        self.builder = flatbuffers.Builder(size + _ROOM)
        self._alignment = alignment

    def text(self, text: str) -> int:
        return int(self.builder.CreateString(text))

    def vector(self, values: Iterable[Any], wire: str = "int32") -> int:
        return int(self.builder.CreateNumpyVector(np.array(list(values), wire)))

    def offsets(self, places: Sequence[int]) -> int:
        self.builder.StartVector(_WIDTH, len(places), _WIDTH)
        for place in reversed(places):
            self.builder.PrependUOffsetTRelative(place)
        return int(self.builder.EndVector())

    def bytes(self, data: bytes) -> int:
        self.builder.StartVector(1, len(data), self._alignment)
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        return int(self.builder.EndVector())


def packed_halves(values: bytes) -> bytes:
    """Pack 4-bit values from int8 into int4: two per byte, the first in its lower half."""
    halves = np.frombuffer(values + bytes(len(values) % 2), np.uint8) & 0xF
    return (halves[::2] | halves[1::2] << 4).astype(np.uint8).tobytes()
