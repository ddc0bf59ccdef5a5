"""Follows an inference through the arena: each byte that is read must be the reader's.

Every byte has an owner: the tensor, workspace or stream that wrote it last. Nothing here depends on
the planner's lifetimes, or on the tensors that it placed on each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.proof.commands import RegionAccess
from ethosgen.proof.lattice import ByteLattice
from ethosgen.values.grammar import counted

_COPY_REST = 15
"""Vela rounds a copy up to a multiple of 16 bytes, which is also the tensors' alignment."""
_NOBODY = 0
_STREAM = -(1 << 30)
"""The owner of what a stream has written."""
_NPU_SCRATCHES = ("scratch", "scratch_fast")
"""What a stream's base pointers may name besides tensors and constants."""

Owners = NDArray[np.int32]
Streams = Callable[[int], Iterable[RegionAccess]]
"""Returns the accesses of a partition's stream by its number."""


class WrongAccessError(Exception):
    """An access to bytes that are not the reader's, with a sentence about it."""


@dataclass(frozen=True)
class HeldBytes:
    """Bytes of the arena that a tensor or a workspace has while the steps first..last run."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.offset + self.bytes

    def overlaps(self, other: "HeldBytes") -> bool:
        """Return whether they share a byte."""
        return self.offset < other.end and other.offset < self.end


@dataclass(frozen=True)
class _Running:
    """A started accelerator: the step before which it is awaited, its device, and its memory.

    It uses these bytes of the arena, and writes tensors, whose owners these are.
    """

    until: int
    name: str
    device: str
    used: NDArray[np.bool_]
    written: frozenset[int]


class Ownership:
    """The owner of each byte of the arena at one moment of an inference."""

    def __init__(self, facts: Mapping[str, Any], streams: Streams) -> None:
        """Take the manifest's facts of a network's memory, and its streams."""
        self._facts = facts
        self._streams = streams
        self._owners: Owners = np.zeros(facts["arena"], np.int32)
        self._tensors: dict[int, HeldBytes] = {}
        self._variables: set[int] = set()
        self._private: dict[int, HeldBytes] = {}
        """What only its steps may write, by its owner."""
        self._npu: dict[str, HeldBytes] = {}
        self._fast: list[HeldBytes] = []
        """Of those, what holds nothing between two partitions."""
        self._groups: dict[int, int] = {}
        """The owner of tensors whose bytes are another one's."""
        self._busy: list[_Running] = []
        for number, block in enumerate(facts["blocks"]):
            life = block["first"], block["last"]
            held = HeldBytes(block["name"], block["offset"], block["bytes"], *life)
            self._sort(number, block, held)

    def _sort(self, number: int, block: Mapping[str, Any], held: HeldBytes) -> None:
        kind, tensor = block["kind"], block["tensor"]
        if kind in ("tensor", "variable"):
            self._tensors[tensor] = held
        elif kind in ("npu", "fast"):
            self._npu[held.name] = held
        else:
            self._private[-1 - number] = held
        if kind == "variable":
            self._variables.add(tensor)
        if kind == "fast":
            self._fast.append(held)

    def walk(self) -> None:
        """Follow an inference; WrongAccessError at the first fault."""
        for tensor in (*self._variables, *self._facts["inputs"]):
            self._own(tensor)
        for number, step in enumerate(self._facts["steps"]):
            self._busy = [busy for busy in self._busy if busy.until != number]
            self._follow(number, step)
        self._require(self._facts["outputs"], "the caller")

    def _follow(self, number: int, step: Mapping[str, Any]) -> None:
        current = {i: h for i, h in self._private.items() if h.first <= number <= h.last}
        for owner, held in current.items():
            if held.first == number:
                self._free(held, f"'{held.name}'")
                self._bytes(held)[:] = owner
        self._require_ended(step)
        if step["npu"] is None:
            self._require(step["reads"], step["name"])
            self._kernel(step)
        else:
            self._stream(step)
        for owner, held in current.items():
            if (self._bytes(held) != owner).any():
                raise WrongAccessError(f"{step['name']} writes into '{held.name}'")
        if step["until"] > number + 1:
            own = [held for held in current.values() if held.first == number]
            used = self._used(step, own)
            written = frozenset(map(self._group, step["writes"]))
            self._busy.append(
                _Running(step["until"], step["name"], step.get("device", ""), used, written)
            )

    def _require_ended(self, step: Mapping[str, Any]) -> None:
        """Raise WrongAccessError if a step needs an accelerator, or its outputs, before its end."""
        for busy in self._busy:
            if step.get("device") and step["device"] == busy.device:
                raise WrongAccessError(
                    f"{busy.device} is still at work on {busy.name} at the start of {step['name']}"
                )
            if not busy.written.isdisjoint(map(self._group, step["reads"])):
                raise WrongAccessError(f"{step['name']} reads what {busy.name} is still writing")

    def _bytes(self, held: HeldBytes) -> Owners:
        return self._owners[held.offset : held.end]

    def _group(self, tensor: int) -> int:
        return self._groups.get(tensor, tensor + 1)

    def _own(self, tensor: int) -> None:
        if tensor in self._tensors:
            self._bytes(self._tensors[tensor])[:] = self._group(tensor)

    def _held(self, tensors: Iterable[int]) -> Iterator[tuple[int, HeldBytes]]:
        """Yield the tensors that are in the arena."""
        return ((tensor, self._tensors[tensor]) for tensor in tensors if tensor in self._tensors)

    def _require(self, tensors: Iterable[int], reader: str) -> None:
        """Raise WrongAccessError unless tensors have all their bytes."""
        for tensor, held in self._held(tensors):
            wrong = self._bytes(held) != self._group(tensor)
            if wrong.any():
                at = held.offset + int(wrong.argmax())
                owner = self._named(int(self._owners[at]))
                raise WrongAccessError(
                    f"{reader} reads '{held.name}' at byte {at} of the arena, that {owner}"
                )

    def _named(self, owner: int) -> str:
        if owner == _NOBODY:
            return "nothing has written"
        if owner == _STREAM:
            return "the NPU has overwritten"
        held = self._private[owner] if owner < 0 else self._tensors[owner - 1]
        return f"'{held.name}' has overwritten"

    def _free(self, held: HeldBytes, writer: str) -> None:
        """Raise WrongAccessError if a started accelerator uses any of the bytes."""
        for busy in self._busy:
            if busy.used[held.offset : held.end].any():
                raise WrongAccessError(f"{writer} writes where {busy.name} is still at work")

    def _kernel(self, step: Mapping[str, Any]) -> None:
        reads, written = dict(self._held(step["reads"])), dict(self._held(step["writes"]))
        for tensor, target in written.items():
            first = step["reads"][0] if step["reads"] else None
            if step["is_move"] and first in reads and reads[first].offset == target.offset:
                self._groups[tensor] = self._group(first)
                continue
            self._free(target, step["name"])
            for read, source in reads.items():
                if source.overlaps(target) and not _may_lie_over(step, read, source, target):
                    raise WrongAccessError(
                        f"{step['name']} writes '{target.name}' over '{source.name}' while it "
                        "reads it"
                    )
            self._own(tensor)
        self._require(written, step["name"])

    def _used(self, step: Mapping[str, Any], private: Iterable[HeldBytes]) -> NDArray[np.bool_]:
        """Return the bytes of the arena that a step of an accelerator uses."""
        used = np.zeros(len(self._owners), bool)
        held = [held for _, held in self._held((*step["reads"], *step["writes"]))]
        for block in (*held, *private, *(self._npu.values() if step["npu"] is not None else ())):
            used[block.offset : block.end] = True
        return used

    def _stream(self, step: Mapping[str, Any]) -> None:
        for scratch in self._fast:
            self._free(scratch, step["name"])
            self._bytes(scratch)[:] = _NOBODY
        self._require(step["reads"], step["name"])
        inputs = (*step["reads"], *self._variables)
        allowed = [_STREAM, *(self._group(tensor) for tensor in inputs)]
        for access in self._streams(step["npu"]):
            base = step["bases"][access.region]
            for part in access.bytes:
                self._touch(step, base, access, part, allowed)
        for tensor, held in self._held((*step["writes"], *self._variables)):
            if not np.isin(self._bytes(held), allowed).all():
                raise WrongAccessError(f"{step['name']} leaves bytes of '{held.name}' unwritten")
            self._own(tensor)

    def _touch(
        self,
        step: Mapping[str, Any],
        base: str | int | None,
        access: RegionAccess,
        part: ByteLattice,
        allowed: list[int],
    ) -> None:
        """Check one access of a stream: its reads are present, and its writes are free."""
        place = f"{access.what} at byte {access.at} of {step['name']}'s stream"
        is_constant = isinstance(base, str) and base not in _NPU_SCRATCHES
        if base is None or (access.writes and is_constant):
            raise WrongAccessError(f"{place} is in region {access.region}: {base or 'none'}")
        held = self._npu.get(base) if isinstance(base, str) else self._tensors.get(base)
        if held is None:
            return  # constants, fast scratch or the caller's buffer: the region's size suffices
        moved = part._replace(start=part.start + held.offset)
        if moved.low < held.offset or moved.end > held.end:
            size = counted(held.bytes, "byte")
            raise WrongAccessError(f"{place} leaves '{held.name}', with its {size}")
        owners = moved.of(self._owners)
        if access.writes:
            for busy in self._busy:
                if moved.of(busy.used).any():
                    raise WrongAccessError(f"{place} writes where {busy.name} is still at work")
            owners[...] = _STREAM
            return
        if access.is_copy:
            owners = owners[..., : max(1, part.run - _COPY_REST)]
        strange = owners[~np.isin(owners, allowed)]
        if strange.size:
            owner = self._named(int(strange[0]))
            raise WrongAccessError(f"{place} reads bytes that {owner}")


def _may_lie_over(step: Mapping[str, Any], read: int, source: HeldBytes, target: HeldBytes) -> bool:
    """Return whether a kernel declares that it may write an output over an input."""
    if read in step["over"] and (source.offset, source.bytes) == (target.offset, target.bytes):
        return True
    if len(step["reads"]) != 1 or step["distance"] is None:
        return False
    apart = source.offset - target.offset
    apart = -apart if step.get("is_backward") else apart
    return bool(apart >= step["distance"] and apart % step.get("unit", 1) == 0)
