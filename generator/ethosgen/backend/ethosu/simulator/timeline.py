"""Estimates start, end and bytes in use of each operation of a stream, without running it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.simulator import feature_map
from ethosgen.backend.ethosu.simulator.generation import memory_rates, spans
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.simulator.operation import (
    Access,
    Channel,
    IssuedOperation,
    MapAccess,
    Ports,
    StreamAccess,
)
from ethosgen.backend.ethosu.simulator.summary import title
from ethosgen.backend.timeline import (
    ARENA,
    DMA_UNIT,
    FAST,
    INNER,
    IO,
    NPU_UNIT,
    WEIGHTS,
    BufferUse,
    NpuEvent,
    NpuTimeline,
)

_KEPT = (ARENA, FAST)
"""The memories whose use is shown."""


def observe(
    stream: bytes,
    accelerator: EthosU,
    ports: Ports | None,
    memories: Sequence[str],
    sources: Mapping[int, int],
) -> NpuTimeline:
    """Return a stream's timeline; `memories` names that of each region.

    `sources` maps commands' offsets to operators. A copy belongs to the operator that reads it.
    """
    steps = load(stream, accelerator, ports).steps
    watched = _Watched(memories, [sources.get(step.offset) for step in steps])
    for index, step in enumerate(steps):
        watched.see(index, step)
    rates = memory_rates(accelerator, steps, ports, len(memories))
    return NpuTimeline(
        events=_events(accelerator, steps, ports, watched),
        buffers=tuple(buffer.buffer() for buffer in watched.buffers),
        encoded={
            operator: sum(length for _, length in parts)
            for operator, parts in sorted(watched.encoded.items())
        },
        rates=dict(zip(memories, rates, strict=True)),
        peak_macs=accelerator.macs,
    )


def _events(
    accelerator: EthosU,
    steps: Sequence[IssuedOperation],
    ports: Ports | None,
    watched: "_Watched",
) -> tuple[NpuEvent, ...]:
    events, before = [], 0
    for index, (start, end) in enumerate(spans(accelerator, steps, ports)):
        operation, reached = steps[index].operation, max(before, round(end))
        event = NpuEvent(
            name=title(operation),
            unit=DMA_UNIT if operation.ofm is None else NPU_UNIT,
            operator=watched.operators[index],
            start=round(start),
            end=round(end),
            cycles=reached - before,
            macs=operation.macs,
            read=watched.read[index],
            written=watched.written[index],
        )
        events.append(event)
        before = reached
    return tuple(events)


@dataclass
class _Open:
    """A buffer that later operations may still read.

    `parts` are the constants copied to it, `reader` the operator that first read an input.
    """

    memory: str
    start: int
    end: int
    first: int
    last: int
    operator: int | None
    parts: frozenset[tuple[int, int]] = frozenset()
    copier: int | None = None
    is_read: bool = False
    is_given: bool = False
    reader: int | None = None

    def overlaps(self, memory: str, start: int, end: int) -> bool:
        return self.memory == memory and self.start < end and start < self.end

    def continues(self, memory: str, start: int, end: int, operator: int | None) -> bool:
        """Return whether an operation writes more of the same buffer before anything reads it."""
        if self.operator != operator or operator is None or self.parts or self.is_read:
            return False
        return self.memory == memory and self.start <= end and start <= self.end

    def grow(self, start: int, end: int, last: int) -> None:
        self.start, self.end, self.last = min(self.start, start), max(self.end, end), last

    def buffer(self) -> BufferUse:
        size, is_copy = self.end - self.start, bool(self.parts)
        life = self.first, self.last
        return BufferUse(
            self.memory, self.start, size, *life, self.operator, is_copy, self.is_given
        )


@dataclass
class _Watched:
    """The bytes that a stream's operations have read and written so far."""

    memories: Sequence[str]
    operators: list[int | None]
    buffers: list[_Open] = field(default_factory=list)
    encoded: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    read: list[Mapping[str, int]] = field(default_factory=list)
    written: list[Mapping[str, int]] = field(default_factory=list)
    _inner_copies: list[int] = field(default_factory=list)

    def see(self, index: int, step: IssuedOperation) -> None:
        """Record the accesses of one operation, reads before writes."""
        totals: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        accesses = sorted(step.operation.accesses(), key=lambda access: access.channel.writes)
        constants = frozenset(
            _range(access)
            for access in accesses
            if access.channel is Channel.DMA_READ and self._memory(access.region) == WEIGHTS
        )
        if step.operation.ofm is not None:
            self._own(self._inner_copies, self.operators[index])
            self._inner_copies.clear()
        for access in accesses:
            memory = self._memory(access.region)
            totals[access.channel.writes][memory] += access.bytes
            if not access.channel.writes:
                self._reads(index, memory, access)
            elif memory in _KEPT:
                self._writes(index, memory, _range(access), constants)
            elif memory == INNER:
                self._inner_copies.append(index)
        self.read.append(dict(sorted(totals[False].items())))
        self.written.append(dict(sorted(totals[True].items())))

    def _memory(self, region: int | None) -> str:
        if region is None:
            return INNER
        return self.memories[region] if region < len(self.memories) else IO

    def _reads(self, index: int, memory: str, access: Access) -> None:
        start, end = _range(access)
        operator = self.operators[index]
        if memory == WEIGHTS and isinstance(access, StreamAccess):
            self._encode(operator, {(start, end - start)})
        left = [(start, end)] if memory in _KEPT else []
        for buffer in reversed(self.buffers):
            if not left:
                break
            if not any(buffer.overlaps(memory, *part) for part in left):
                continue
            buffer.last, buffer.is_read = index, True
            left = [rest for part in left for rest in _without(part, (buffer.start, buffer.end))]
            if buffer.parts and isinstance(access, StreamAccess):
                self._encode(operator, {(a, b - a) for a, b in buffer.parts})
            if buffer.copier is not None and operator is not None:
                self._own([buffer.copier], operator)
                buffer.operator = buffer.operator if buffer.operator is not None else operator
        for part in left:
            self._is_given(index, memory, part)

    def _is_given(self, index: int, memory: str, part: tuple[int, int]) -> None:
        """Record a read of bytes that no operation has written: they hold an input."""
        start, end = part
        reader = self.operators[index]
        for buffer in self.buffers:
            touches = buffer.start <= end and start <= buffer.end
            if buffer.is_given and buffer.memory == memory and touches and buffer.reader == reader:
                buffer.grow(start, end, index)
                return
        opened = _Open(memory, start, end, 0, index, None, is_read=True, is_given=True)
        opened.reader = reader
        self.buffers.insert(0, opened)

    def _writes(
        self,
        index: int,
        memory: str,
        place: tuple[int, int],
        constants: frozenset[tuple[int, int]],
    ) -> None:
        start, end = place
        operator = self.operators[index]
        known = next((b for b in self.buffers if b.continues(memory, *place, operator)), None)
        if known is not None and not constants:
            known.grow(start, end, index)
            return
        copier = index if constants else None
        self.buffers.append(_Open(memory, start, end, index, index, operator, constants, copier))

    def _encode(self, operator: int | None, parts: set[tuple[int, int]]) -> None:
        if operator is not None:
            self.encoded.setdefault(operator, set()).update(parts)

    def _own(self, copies: Sequence[int], operator: int | None) -> None:
        """Give copies to the operator that reads them, if they have none."""
        for copy in copies:
            if self.operators[copy] is None:
                self.operators[copy] = operator


def _range(access: Access) -> tuple[int, int]:
    """Return the first byte of an access in its region, and the byte after its last."""
    if isinstance(access, MapAccess):
        return feature_map.span(access.fm, access.shape)
    if isinstance(access, StreamAccess):
        return access.stream.base, access.stream.base + access.stream.length
    planes, rows, length = access.shape
    plane, row, _ = access.strides
    return access.address, access.address + (planes - 1) * plane + (rows - 1) * row + length


def _without(span: tuple[int, int], other: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the parts of a range that are not in another."""
    parts = [(span[0], min(span[1], other[0])), (max(span[0], other[1]), span[1])]
    return [(start, end) for start, end in parts if start < end]
