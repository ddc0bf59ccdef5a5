"""PAD of int8 and int16 by their zero points, and joints and divisions: rows of words."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.copies import RowCopies, row_cycles
from ethosgen.aot.libraries.framework.core import CorePad, CoreRows
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


LEAST = 16
"""Bytes of a row from which GCC's loop over single words is slower than a call."""
joined, divided = RowCopies("ethosgen_dsp_copy_rows", CoreRows, PAD, LEAST, row_cycles).packs()
