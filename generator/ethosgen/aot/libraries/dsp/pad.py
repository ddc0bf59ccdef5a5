"""PAD of int8 and int16 by their zero points: rows of words, and the gaps between them."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.core import CorePad
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.padding import PAD, estimate, moved, padding
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

_cycles = estimate(moved)


@packed("PAD", cycles=_cycles)
@packed("PAD", dtype="int16", cycles=_cycles)
def pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Copy rows, and fill the gaps between them."""
    return padding("ethosgen_dsp_pad_s8", CorePad, PAD, op, tensors)
