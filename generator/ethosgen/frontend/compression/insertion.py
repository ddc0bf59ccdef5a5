"""Puts new tables in front of a flatbuffer's old ones: offsets lead only forward.

The old file follows as it was. What changed is written anew, with the old parts that it still has.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_ALIGNMENT = 16
_BUFFER_DATA, _BUFFER_PLACE, _BUFFER_BYTES = 0, 1, 2
"""Fields of the table Buffer, by their place in TFLite's schema."""
OFFSET = 0
"""In a layout: the field leads to something else. Other numbers are sizes of plain fields."""


@dataclass(frozen=True)
class Link:
    """A place that an offset leads to: in the old file, or among what is new."""

    place: int
    is_new: bool = False


@dataclass(frozen=True)
class OldTable:
    """A table of the old file."""

    data: bytes = field(repr=False)
    place: int

    def slot(self, number: int) -> int | None:
        """Return where a field is, None if the table leaves it out."""
        vtable = self.place - _number("<i", self.data, self.place)
        entry = 4 + 2 * number
        if entry >= _number("<H", self.data, vtable):
            return None
        offset = _number("<H", self.data, vtable + entry)
        return self.place + offset if offset else None

    def wide(self, number: int) -> int:
        """Return a field of 8 bytes, 0 if the table leaves it out."""
        slot = self.slot(number)
        return 0 if slot is None else _number("<Q", self.data, slot)

    def target(self, number: int) -> Link | None:
        """Return the offset that a field points to."""
        slot = self.slot(number)
        return None if slot is None else Link(slot + _number("<I", self.data, slot))

    def elements(self, number: int) -> list[Link]:
        """Return the tables of a vector."""
        vector = self.target(number)
        if vector is None:
            return []
        slots = range(vector.place + 4, vector.place + 4 + 4 * _length(self.data, vector.place), 4)
        return [Link(slot + _number("<I", self.data, slot)) for slot in slots]

    def fields(self, layout: Sequence[int]) -> dict[int, bytes | Link]:
        """Return all fields that the table has, given the size of each."""
        found: dict[int, bytes | Link] = {}
        for number, size in enumerate(layout):
            slot, link = self.slot(number), self.target(number) if size == OFFSET else None
            if slot is not None:
                found[number] = link if link is not None else self.data[slot : slot + size]
        return found


class Front:
    """What will stand before the old file: the root, then new tables, each after its user."""

    def __init__(self, identifier: bytes) -> None:
        self._data = bytearray(4) + identifier
        self._links: list[tuple[int, Link]] = []

    def vector(self, elements: Sequence[Link]) -> Link:
        """Add a vector of tables; those that are new are told later, by `lead`."""
        self._pad(4)
        place = len(self._data)
        self._data += struct.pack("<I", len(elements)) + bytes(4 * len(elements))
        for number, element in enumerate(elements):
            self.lead(Link(place, True), number, element)
        return Link(place, True)

    def lead(self, vector: Link, number: int, element: Link) -> None:
        """Let an element of a new vector lead to a table."""
        self._links.append((vector.place + 4 + 4 * number, element))

    def blob(self, values: bytes) -> Link:
        """Add a vector of bytes, which begin at a multiple of 16."""
        self._pad(_ALIGNMENT, 4)
        place = len(self._data)
        self._data += struct.pack("<I", len(values)) + values
        return Link(place, True)

    def numbers(self, values: Sequence[int]) -> Link:
        """Add a vector of int32."""
        self._pad(4)
        place = len(self._data)
        self._data += struct.pack(f"<I{len(values)}i", len(values), *values)
        return Link(place, True)

    def buffer(self, values: bytes) -> Link:
        """Add a buffer with its data in the table's own vector."""
        made, slots = self.table({_BUFFER_DATA: Link(0)})
        self.connect(slots[_BUFFER_DATA], self.blob(values))
        return made

    def near_buffers(self, old: bytes, buffers: Sequence[Link], more: int = 0) -> Link:
        """Add the vector of a file's buffers, with room for more.

        Data that lies behind all tables, at a place counted from the file's begin, comes nearer.
        """
        vector = self.vector([*buffers, *(Link(0) for _ in range(more))])
        for number, link in enumerate(buffers):
            entry = OldTable(old, link.place)
            place, size = entry.wide(_BUFFER_PLACE), entry.wide(_BUFFER_BYTES)
            if place > 1:
                self.lead(vector, number, self.buffer(old[place : place + size]))
        return vector

    def table(self, fields: Mapping[int, bytes | Link]) -> tuple[Link, dict[int, int]]:
        """Add a table; return it, and where each of its fields is, for `connect`."""
        count = max(fields, default=-1) + 1
        sizes = {n: 4 if isinstance(v, Link) else len(v) for n, v in fields.items()}
        inside, end = {}, 4
        for number in sorted(fields, key=lambda n: -sizes[n]):
            end = -(-end // sizes[number]) * sizes[number]
            inside[number], end = end, end + sizes[number]
        entries = [inside.get(number, 0) for number in range(count)]
        self._pad(8, 4 + 2 * count)
        vtable = len(self._data)
        self._data += struct.pack(f"<{2 + count}H", 4 + 2 * count, end, *entries)
        place = len(self._data)
        self._data += struct.pack("<i", place - vtable) + bytes(end - 4)
        for number, value in fields.items():
            slot = place + inside[number]
            if isinstance(value, Link):
                self._links.append((slot, value))
            else:
                self._data[slot : slot + len(value)] = value
        return Link(place, True), {number: place + offset for number, offset in inside.items()}

    def connect(self, slot: int, link: Link) -> None:
        """Let a field of a new table lead to something that was added after it."""
        self._links.append((slot, link))

    def before(self, old: bytes, root: Link) -> bytes:
        """Return the whole file."""
        self._pad(_ALIGNMENT)
        base = len(self._data)
        for slot, link in (*self._links, (0, root)):
            place = link.place if link.is_new else base + link.place
            self._data[slot : slot + 4] = struct.pack("<I", place - slot)
        return bytes(self._data) + old

    def _pad(self, alignment: int, after: int = 0) -> None:
        """Go on to a place from which `after` bytes lead to a multiple of the alignment."""
        self._data += bytes(-(len(self._data) + after) % alignment)


def _number(kind: str, data: bytes, place: int) -> int:
    return int(struct.unpack_from(kind, data, place)[0])


def _length(data: bytes, place: int) -> int:
    return _number("<I", data, place)
