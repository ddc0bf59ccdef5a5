"""The memories on the NPU's bus: range-checked segments."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.values.errors import NpuFault

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Segment:
    """Memory at bus addresses [start, start + memory.size); `memory` is a flat uint8 array.

    `constant` means that nothing writes to it while the bus exists, so data decoded from it is not
    checked again.
    """

    start: int
    memory: Bytes = field(repr=False)
    writable: bool = True
    name: str = ""
    constant: bool = False

    def __post_init__(self) -> None:
        if self.memory.dtype != np.uint8 or self.memory.ndim != 1:
            raise ValueError(f"segment '{self.name}' needs a flat uint8 array")

    @property
    def end(self) -> int:
        """The first address after the segment."""
        return self.start + self.memory.size


class Bus:
    """All memory that the NPU can access. An access must lie within one segment."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        """Store the segments; ValueError if two of them overlap."""
        self._segments = sorted(segments, key=lambda segment: segment.start)
        for low, high in zip(self._segments, self._segments[1:], strict=False):
            if low.end > high.start:
                raise ValueError(f"segments '{low.name}' and '{high.name}' overlap")

    def locate(self, start: int, end: int, write: bool = False) -> tuple[Bytes, int]:
        """Return the memory that contains addresses [start, end), and the index of `start` in it.

        Raises NpuFault of kind "bus" if no segment contains the range, or if it is read-only.
        """
        segment = self._find(start, end, write)
        return segment.memory, start - segment.start

    def _find(self, start: int, end: int, write: bool) -> Segment:
        for segment in self._segments:
            if segment.start <= start and end <= segment.end:
                if write and not segment.writable:
                    raise NpuFault(
                        "bus", f"write to read-only memory '{segment.name}' {span(start, end)}"
                    )
                return segment
        access = "write" if write else "read"
        raise NpuFault(
            "bus", f"{access} outside the memories {span(start, end)}{self._near(start, end)}"
        )

    def _near(self, start: int, end: int) -> str:
        """Return the memory nearest to a range, and its place."""
        if not self._segments:
            return ""
        near = min(
            self._segments, key=lambda segment: max(segment.start - start, end - segment.end)
        )
        return f", next to '{near.name}' {span(near.start, near.end)}"

    def is_constant(self, address: int, length: int) -> bool:
        """Return whether `length` bytes are constant; NpuFault of kind "bus" if out of bounds."""
        return not length or self._find(address, address + length, write=False).constant

    def view(self, address: int, length: int) -> Bytes:
        """Return a view of `length` bytes; a view of 0 bytes can have any address.

        Vela sets no address for the weights of a core without weights.
        """
        if not length:
            return np.zeros(0, np.uint8)
        memory, offset = self.locate(address, address + length)
        return memory[offset : offset + length]

    def read(self, address: int, length: int) -> bytes:
        """Return a copy of `length` bytes."""
        return self.view(address, length).tobytes()

    def write(self, address: int, data: bytes | Bytes) -> None:
        """Store bytes."""
        array = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
        memory, offset = self.locate(address, address + array.size, write=True)
        memory[offset : offset + array.size] = array

    def window(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        write: bool = False,
    ) -> NDArray[Any]:
        """Return an array view of the memory; strides are in bytes, of any sign.

        Raises NpuFault of kind "bus" unless every element lies within one segment.
        """
        reach = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        low = address + sum(min(step, 0) for step in reach)
        high = address + sum(max(step, 0) for step in reach) + dtype.itemsize
        memory, offset = self.locate(low, high, write)
        return np.ndarray(shape, dtype, memory, offset + address - low, strides)


def span(start: int, end: int) -> str:
    """Format an address range."""
    return f"at 0x{start:x}..0x{end:x}"
