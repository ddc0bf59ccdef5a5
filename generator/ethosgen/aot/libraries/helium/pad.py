"""PAD of int8 and int16 by their zero points: rows of bytes, and the gaps between them."""

from collections.abc import Callable, Sequence

import numpy as np

from ethosgen.aot.cost import Cycles, TwoForms
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.padding import PLAIN_CYCLES, Slab, padding, slab_of
from ethosgen.aot.libraries.helium.cost import LANES
from ethosgen.aot.libraries.helium.shapes import HeliumPad
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

PAD = frozenset({"ethosgen_pad.c"})


def _estimate(whole: Callable[[Slab, int], float]) -> Cycles:
    """Return an estimate for each element from that of a call, given the bytes of an element."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        slab, target = slab_of(op, tensors), tensors[op.outputs[0]]
        if slab is None:
            return PLAIN_CYCLES
        return slab.calls * whole(slab, np.dtype(target.dtype).itemsize) / target.elements

    return cycles


def _helium(slab: Slab, size: int) -> float:
    """Return the instructions of a call; rows of up to two vectors have their own loop."""
    row, gap, ends = (size * n for n in (slab.row, slab.between, slab.before + slab.after))
    is_short = row <= 2 * LANES and gap <= LANES
    rows = 20.0 if is_short else 34 + 2.25 * row / LANES + 3.0 * gap / LANES
    return 70 + slab.rows * rows + 1.25 * ends / LANES


def _in_c(slab: Slab, size: int) -> float:
    return 60 + slab.rows * 24 + 4.0 * size * slab.target


CYCLES = TwoForms(_estimate(_helium), _estimate(_in_c))


@packed("PAD", cycles=CYCLES)
@packed("PAD", dtype="int16", cycles=CYCLES)
def pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Copy rows, and fill the gaps between them."""
    return padding("ethosgen_pad_s8", HeliumPad, PAD, op, tensors)
