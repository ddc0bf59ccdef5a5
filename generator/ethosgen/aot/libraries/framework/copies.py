"""CONCATENATION, PACK, SPLIT and UNPACK as rows that a C function copies, a call for each part.

A compiler makes a loop over single words from a memcpy of a constant size, if it optimizes for
size.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ethosgen.aot.libraries.framework.library import Pack, Packed, packed
from ethosgen.aot.operators.blocks import MOVED, joint_axis, split_along
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Nest, address
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor

JOINING, DIVIDING = ("CONCATENATION", "PACK"), ("SPLIT", "SPLIT_V", "UNPACK")
WORD, FOUR, BLOCK = 4, 16, 32
"""Bytes that the C copies at a time."""


def row_cycles(size: int, is_aligned: bool) -> float:
    """Return the estimated cycles of a row of bytes that ethosgen_dsp_copy_rows copies."""
    blocks, rest = divmod(size, BLOCK) if is_aligned else (0, size)
    fours, rest = divmod(rest, FOUR)
    words, rest = divmod(rest, WORD)
    return 20 + 10.0 * blocks + 13.0 * fours + 7.0 * (words + rest)


class MakeRows(Protocol):
    """A library's struct of rows: their number and, in bytes, their size and their distances."""

    def __call__(self, *, rows: int, columns: int, input_step: int, output_step: int) -> Struct:
        """Return the struct."""


@dataclass(frozen=True)
class RowCopies:
    """A library's function that copies rows.

    `least` are the bytes of a row from which it is faster than what a compiler makes of a memcpy.
    `cycles` estimates a row by its bytes, and by whether all rows begin at words; with None, the
    function is used wherever a row has `least` bytes.
    """

    function: str
    make_rows: MakeRows
    files: frozenset[str]
    least: int
    cycles: Callable[[int, bool], float] | None
    narrow: tuple[float, float] = (8.0, 1.2)
    """Estimated cycles of a row that the compiler copies, and of each of its bytes."""

    def packs(self, for_helium: bool = False) -> tuple[Packed, ...]:
        """Declare the operators, for all types that they move."""
        return (
            self._declared(JOINING, self._joined, for_helium),
            self._declared(DIVIDING, self._divided, for_helium),
        )

    def _declared(self, codes: Sequence[str], pack: Pack, for_helium: bool) -> Packed:
        cycles = partial(self._estimate, self.cycles) if self.cycles else None
        for dtype in MOVED:
            pack = packed(*codes, dtype=dtype, cycles=cycles, for_helium=for_helium)(pack)
        assert isinstance(pack, Packed)
        return pack

    def _joined(self, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
        """Copy the inputs side by side."""
        target, parts = tensors[op.outputs[0]], [tensors[i] for i in op.inputs]
        rows = math.prod(target.shape[: joint_axis(op, tensors)])
        if op.options.get(UNSIGNED) or not self._has_calls(parts, rows):
            return None
        nest = Nest()
        views = [
            nest.read(f"input{i}", part, (rows, part.elements // rows))
            for i, part in enumerate(parts)
        ]
        y, start = nest.write("output", target, (rows, target.elements // rows)), 0
        for i, view in enumerate(views):
            self._copy(nest, f"rows{i}", (y, start), (view, 0))
            start += int(view.shape[1])
        return nest.kernel(self.files)

    def _divided(self, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
        """Copy adjacent parts to tensors of their own."""
        source, axis = split_along(op, tensors)
        rows, parts = math.prod(source.shape[:axis]), [tensors[i] for i in op.outputs]
        if not self._has_calls(parts, rows):
            return None
        nest = Nest()
        x, start = nest.read("input", source, (rows, source.elements // rows)), 0
        views = [
            nest.write(f"output{i}", part, (rows, part.elements // rows))
            for i, part in enumerate(parts)
        ]
        for i, view in enumerate(views):
            self._copy(nest, f"rows{i}", (view, 0), (x, start))
            start += int(view.shape[1])
        return nest.kernel(self.files)

    def _has_calls(self, parts: Sequence[Tensor], rows: int) -> bool:
        return rows > 0 and any(part.bytes // rows >= self.least for part in parts)

    def _copy(self, nest: Nest, name: str, to: tuple[Any, int], of: tuple[Any, int]) -> None:
        """Copy the rows of the narrower of two buffers; each tuple has a buffer and a column."""
        rows, width = (int(min(sizes)) for sizes in zip(to[0].shape, of[0].shape, strict=True))
        size = np.dtype(str(to[0].dtype)).itemsize
        if width * size < self.least:
            with nest.loop("row", rows) as row:
                nest.copy(to[0], (row, to[1]), of[0], (row, of[1]), width)
            return
        steps = (size * int(of[0].shape[1]), size * int(to[0].shape[1]))
        shape = self.make_rows(
            rows=rows, columns=width * size, input_step=steps[0], output_step=steps[1]
        )
        places = address(to[0], 0, to[1]), address(of[0], 0, of[1])
        nest.call(self.function, *places, nest.table(name, shape).data)

    def _estimate(
        self, cycles: Callable[[int, bool], float], op: Operator, tensors: Sequence[Tensor]
    ) -> float:
        """Return the estimate for each element of the first output."""
        if op.code in DIVIDING:
            source, axis = split_along(op, tensors)
            whole, indices = source, op.outputs
        else:
            axis, whole, indices = joint_axis(op, tensors), tensors[op.outputs[0]], op.inputs
        rows = math.prod(whole.shape[:axis])
        widths = [tensors[i].bytes // max(rows, 1) for i in indices]
        is_aligned = all(width % WORD == 0 for width in widths)
        few, byte = self.narrow
        each = sum(
            cycles(width, is_aligned) if width >= self.least else few + byte * width
            for width in widths
        )
        return rows * each / max(tensors[op.outputs[0]].elements, 1)
