"""PAD of int8 and int16 by their zero points: rows of words, and the gaps between them."""

from collections.abc import Callable, Sequence

import numpy as np

from ethosgen.aot.cost import Cycles
from ethosgen.aot.libraries.framework.core import Pad
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.padding import PLAIN_CYCLES, padding, slab_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

PAD = frozenset({"ethosgen_dsp_pad.c"})
WORD, BLOCK = 4, 32


def moved(size: int, is_aligned: bool) -> float:
    """Return the estimated cycles of copying or filling bytes."""
    blocks, rest = divmod(size, BLOCK) if is_aligned else (0, size)
    return 18 + 4.0 * blocks + 4.0 * (rest // WORD) + 4 * (rest % WORD)


def estimate(move: Callable[[int, bool], float]) -> Cycles:
    """Return an estimate for each output from that of moving bytes, which may be words."""

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


_cycles = estimate(moved)


@packed("PAD", cycles=_cycles)
@packed("PAD", dtype="int16", cycles=_cycles)
def pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Copy rows, and fill the gaps between them."""
    return padding("ethosgen_dsp_pad_s8", Pad, PAD, op, tensors)
