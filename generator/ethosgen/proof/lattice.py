"""Bytes that are accessed in steps: runs of bytes at the points of a lattice."""

from typing import Any, NamedTuple

from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray


class ByteLattice(NamedTuple):
    """Runs of `run` bytes that begin at `start` + i * stride, for each i of each axis."""

    start: int
    run: int
    counts: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def low(self) -> int:
        """The first byte."""
        return self.start + sum(min(step, 0) for step in self._reaches())

    @property
    def end(self) -> int:
        """The byte after the last one."""
        return self.start + sum(max(step, 0) for step in self._reaches()) + self.run

    def of(self, memory: NDArray[Any]) -> NDArray[Any]:
        """Return a view of a value for each byte, in which it must lie."""
        assert self.low >= 0 and self.end <= len(memory)
        item = memory.itemsize
        shape, strides = (*self.counts, self.run), (*(item * s for s in self.strides), item)
        return as_strided(memory[self.start :], shape, strides)

    def _reaches(self) -> tuple[int, ...]:
        return tuple((n - 1) * step for n, step in zip(self.counts, self.strides, strict=True))
