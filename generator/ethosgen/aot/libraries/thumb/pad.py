"""PAD of int8 and int16 by their zero points: the C for DSP instructions."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.core import CorePad
from ethosgen.aot.libraries.framework.padding import BLOCK, PAD, WORD, padding
from ethosgen.aot.libraries.thumb.recurrent import HEADERS
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

SOURCES = PAD | HEADERS | {"ethosgen_thumb.h"}


def moved_armv6m(size: int, is_aligned: bool) -> float:
    """Return the estimated cycles of copying or filling bytes on Armv6-M."""
    blocks, rest = divmod(size, BLOCK) if is_aligned else (0, size)
    words, rest = divmod(rest, WORD) if is_aligned else (0, rest)
    return 25 + 6.0 * blocks + 5.0 * words + 5.0 * rest


def pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Copy rows, and fill the gaps between them."""
    return padding("ethosgen_dsp_pad_s8", CorePad, SOURCES, op, tensors)
