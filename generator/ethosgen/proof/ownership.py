"""Follows an inference through the arena: each byte that is read must be the reader's.

Every byte has an owner: the tensor, workspace or stream that wrote it last. Nothing here asks how
long the planner takes a tensor to live, or which tensors it put on each other.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.proof.commands import RegionAccess
from ethosgen.proof.lattice import ByteLattice
from ethosgen.values.grammar import counted

ARENA = "arena"
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
    """An access of bytes that are not the reader's, with the sentence that says so."""


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


@dataclass
class Ownership:
    """The owner of each byte of the arena, and of each other memory, at one moment."""

    facts: Mapping[str, Any]
    streams: Streams
    memories: dict[str, Owners] = field(default_factory=dict)
    tensors: dict[int, HeldBytes] = field(default_factory=dict)
    private: dict[int, HeldBytes] = field(default_factory=dict)
    npu: dict[str, HeldBytes] = field(default_factory=dict)
    fast: set[str] = field(default_factory=set)
    """Of those, what holds nothing between two partitions."""
    variables: set[int] = field(default_factory=set)
    groups: dict[int, int] = field(default_factory=dict)
    busy: dict[int, tuple[str, NDArray[np.bool_]]] = field(default_factory=dict)
    """What started accelerators use, by the step before which they are awaited."""

    def __post_init__(self) -> None:
        self.memories[ARENA] = np.zeros(self.facts["arena"], np.int32)
        for number, block in enumerate(self.facts["blocks"]):
            life = block["first"], block["last"]
            held = HeldBytes(block["name"], block["offset"], block["bytes"], *life)
            if block["kind"] in ("tensor", "variable"):
                self.tensors[block["tensor"]] = held
                self.variables |= {block["tensor"]} if block["kind"] == "variable" else set()
            elif block["kind"] in ("npu", "fast"):
                self.npu[held.name] = held
                self.fast |= {held.name} if block["kind"] == "fast" else set()
            else:
                self.private[-2 - number] = held

    def walk(self) -> None:
        """Follow an inference; WrongAccessError at the first fault."""
        for tensor in (*self.variables, *self.facts["inputs"]):
            self._own(tensor)
        for number, step in enumerate(self.facts["steps"]):
            self.busy.pop(number, None)
            current = {
                i: held for i, held in self.private.items() if held.first <= number <= held.last
            }
            for owner, held in current.items():
                if held.first == number:
                    self._free(held, f"'{held.name}'")
                    self._arena(held)[:] = owner
            self._require(step["reads"], step["name"])
            if step["npu"] is None:
                self._kernel(step)
            else:
                self._stream(step)
            for owner, held in current.items():
                if (self._arena(held) != owner).any():
                    raise WrongAccessError(f"{step['name']} writes into '{held.name}'")
            if step["until"] > number + 1:
                self.busy[step["until"]] = step["name"], self._used(step, current.values())
        self._require(self.facts["outputs"], "the caller")

    def _arena(self, held: HeldBytes) -> Owners:
        return self.memories[ARENA][held.offset : held.end]

    def _group(self, tensor: int) -> int:
        return self.groups.get(tensor, tensor + 1)

    def _own(self, tensor: int) -> None:
        if tensor in self.tensors:
            self._arena(self.tensors[tensor])[:] = self._group(tensor)

    def _held(self, tensors: Iterable[int]) -> Iterator[tuple[int, HeldBytes]]:
        """Yield the tensors that are in the arena."""
        return ((tensor, self.tensors[tensor]) for tensor in tensors if tensor in self.tensors)

    def _require(self, tensors: Iterable[int], reader: str) -> None:
        """Raise WrongAccessError unless tensors have all their bytes."""
        for tensor, held in self._held(tensors):
            wrong = self._arena(held) != self._group(tensor)
            if wrong.any():
                at = held.offset + int(wrong.argmax())
                owner = self._named(int(self.memories[ARENA][at]))
                raise WrongAccessError(
                    f"{reader} reads '{held.name}' at byte {at} of the arena, that {owner}"
                )

    def _named(self, owner: int) -> str:
        if owner == _NOBODY:
            return "nothing has written"
        if owner == _STREAM:
            return "the NPU has overwritten"
        held = self.private[owner] if owner < 0 else self.tensors[owner - 1]
        return f"'{held.name}' has overwritten"

    def _free(self, held: HeldBytes, writer: str) -> None:
        """Raise WrongAccessError if a started accelerator uses any of the bytes."""
        for name, used in self.busy.values():
            if used[held.offset : held.end].any():
                raise WrongAccessError(f"{writer} writes where {name} is still at work")

    def _kernel(self, step: Mapping[str, Any]) -> None:
        reads, written = dict(self._held(step["reads"])), dict(self._held(step["writes"]))
        for tensor, target in written.items():
            first = step["reads"][0] if step["reads"] else None
            if step["is_move"] and first in reads and reads[first].offset == target.offset:
                self.groups[tensor] = self._group(first)
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
        used = np.zeros(len(self.memories[ARENA]), bool)
        held = [held for _, held in self._held((*step["reads"], *step["writes"]))]
        for block in (*held, *private, *(self.npu.values() if step["npu"] is not None else ())):
            used[block.offset : block.end] = True
        return used

    def _stream(self, step: Mapping[str, Any]) -> None:
        for name in self.fast:
            self._arena(self.npu[name])[:] = _NOBODY
        self._require(step["reads"], step["name"])
        inputs = (*step["reads"], *self.variables)
        allowed = [self._group(tensor) for tensor in inputs]
        for access in self.streams(step["npu"]):
            base = step["bases"][access.region]
            for part in access.bytes:
                self._touch(step, base, access, part, allowed)
        for tensor, held in self._held((*step["writes"], *self.variables)):
            owners = self._arena(held)
            if not (np.isin(owners, allowed) | (owners == _STREAM)).all():
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
        """Check one access of a stream: what it reads is there, and what it writes is free."""
        place = f"{access.what} at byte {access.at} of {step['name']}'s stream"
        is_constant = isinstance(base, str) and base not in _NPU_SCRATCHES
        if base is None or (access.writes and is_constant):
            raise WrongAccessError(f"{place} is in region {access.region}: {base or 'none'}")
        held = self.npu.get(base) if isinstance(base, str) else self.tensors.get(base)
        if held is None:
            return  # constants, fast scratch or the caller's buffer: the region's size suffices
        moved = part._replace(start=part.start + held.offset)
        if moved.low < held.offset or moved.end > held.end:
            size = counted(held.bytes, "byte")
            raise WrongAccessError(f"{place} leaves '{held.name}', with its {size}")
        owners = moved.of(self.memories[ARENA])
        if access.is_copy:
            owners = owners[..., : max(1, part.run - _COPY_REST)]
        if access.writes:
            moved.of(self.memories[ARENA])[...] = _STREAM
        elif not (np.isin(owners, allowed) | (owners == _STREAM)).all():
            strange = (o for o in np.unique(owners) if o not in allowed and o != _STREAM)
            owner = int(next(strange))
            raise WrongAccessError(f"{place} reads bytes that {self._named(owner)}")


def _may_lie_over(step: Mapping[str, Any], read: int, source: HeldBytes, target: HeldBytes) -> bool:
    """Return whether a kernel may write an output over an input, by what it declares."""
    if read in step["over"] and (source.offset, source.bytes) == (target.offset, target.bytes):
        return True
    is_only = len(step["reads"]) == 1 and step["distance"] is not None
    return is_only and source.offset - target.offset >= step["distance"]
