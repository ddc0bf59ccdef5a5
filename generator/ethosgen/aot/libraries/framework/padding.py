"""PAD as rows that are copied, and the gaps between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ethosgen.aot.cost import Cycles
from ethosgen.aot.operators.blocks import contiguous, padded_before
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.aot.tir.structs import Struct
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import ABSENT, Operator, Tensor

PLAIN_CYCLES = 1.0
"""Cycles for each element without a packed form."""

MOST_PADDED = 2
"""Most dimensions with padding that one call covers."""


PAD = frozenset({"ethosgen_dsp_pad.c"})
"""The C for processors without Helium."""
WORD, BLOCK = 4, 32


@dataclass(frozen=True)
class Slab:
    """The rows of a call in elements, and the number of calls."""

    calls: int
    rows: int
    row: int
    before: int
    between: int
    after: int

    @property
    def source(self) -> int:
        """The elements of its input."""
        return self.rows * self.row

    @property
    def target(self) -> int:
        """The elements of its output."""
        gaps = (self.rows - 1) * self.between
        return self.before + self.source + gaps + self.after


def slab_of(op: Operator, tensors: Sequence[Tensor]) -> Slab | None:
    """Return the rows; None if more dimensions have padding, or none has."""
    source, paddings, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    before = padded_before(source, paddings, target)
    sizes, starts, totals = contiguous(source.shape, before, target.shape)
    calls, *rest = zip(sizes, starts, totals, strict=True)
    if not 1 <= len(rest) <= MOST_PADDED or not source.elements:
        return None
    row, start, total = rest[-1]
    # If only rows are padded, the rows of different calls become one call's.
    rows, above, high = (calls[0], 0, calls[0]) if len(rest) == 1 else rest[0]
    first = above * total + start
    between = total - row
    after = high * total - first - rows * row - (rows - 1) * between
    return Slab(1 if len(rest) == 1 else calls[0], rows, row, first, between, after)


def moved(size: int, is_aligned: bool) -> float:
    """Return the estimated cycles of copying or filling bytes."""
    blocks, rest = divmod(size, BLOCK) if is_aligned else (0, size)
    return 18 + 4.0 * blocks + 4.0 * (rest // WORD) + 4 * (rest % WORD)


def estimate(move: Callable[[int, bool], float]) -> Cycles:
    """Return an estimate for each output from the cost of moving bytes, or words."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        slab, target = slab_of(op, tensors), tensors[op.outputs[0]]
        if slab is None:
            return PLAIN_CYCLES
        size = np.dtype(target.dtype).itemsize
        numbers = (slab.row, slab.before, slab.between, slab.after)
        row, before, gap, after = (size * n for n in numbers)
        starts = (before, gap, row, size * slab.target if slab.calls > 1 else 0)
        is_aligned = all(start % WORD == 0 for start in starts)
        rows = slab.rows * (10 + move(row, is_aligned) + move(gap, is_aligned))
        ends = move(before, is_aligned) + move(after, is_aligned)
        return slab.calls * (40 + rows + ends) / max(target.elements, 1)

    return cycles


class MakePad(Protocol):
    """A library's struct of rows with padding around them, in bytes."""

    def __call__(
        self, *, rows: int, row_bytes: int, before: int, between: int, after: int, value: int
    ) -> Struct:
        """Return the struct."""


def padding(
    function: str,
    make_pad: MakePad,
    files: frozenset[str],
    op: Operator,
    tensors: Sequence[Tensor],
) -> Kernel | None:
    """Return a kernel that calls a function for each slab, None if no slabs cover the padding."""
    slab = slab_of(op, tensors)
    if slab is None or (len(op.inputs) > 2 and op.inputs[2] != ABSENT):
        return None
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    size = np.dtype(target.dtype).itemsize
    pad = make_pad(
        rows=slab.rows,
        row_bytes=size * slab.row,
        before=size * slab.before,
        between=size * slab.between,
        after=size * slab.after,
        value=zero_point_of(target) if target.dtype == "int8" else 0,
    )
    nest = Nest()
    x = nest.read("input", source, (slab.calls, slab.source))
    y = nest.write("output", target, (slab.calls, slab.target))
    shape = nest.table("shape", pad)
    with nest.loop("n", slab.calls) as n:
        ends = tirx.address_of(y[n, 0]), tirx.address_of(x[n, 0])
        nest.call(function, *ends, shape.data)
    return nest.kernel(files)
