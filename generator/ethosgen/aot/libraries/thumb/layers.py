"""The operators that have kernels for Armv6-M (Cortex-M0 and M0+) and for Armv7-M (Cortex-M3).

SVDF, LSTM, PAD and rows that are copied use the C for DSP instructions, SVDF and LSTM with this
library's sums.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ethosgen.aot.libraries.framework.calls import pool_kernel
from ethosgen.aot.libraries.framework.copies import RowCopies, row_cycles
from ethosgen.aot.libraries.framework.core import CorePad, CorePool, CoreRows
from ethosgen.aot.libraries.framework.library import Packed, packed
from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.libraries.framework.padding import BLOCK, PAD, estimate, moved, padding
from ethosgen.aot.libraries.framework.products import product_kernel
from ethosgen.aot.libraries.framework.recurrent import RowSums, lstm_of, svdf_of
from ethosgen.aot.libraries.thumb import cost, depthwise, matrix, order
from ethosgen.aot.libraries.thumb.matrix import ARMV6M, ARMV7M, WORD, Form
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

HEADERS = {"ethosgen_dsp_math.h"}
"""What the C for DSP instructions includes."""
PAD_SOURCES = PAD | HEADERS | {"ethosgen_thumb.h"}
POOL = frozenset({"ethosgen_thumb_pool.c"})


def _weights(block: Array, form: Form) -> Array:
    """Pack a block of (filter, depth); its C sums filters in pairs."""
    whole = padded(block, 2)
    return order.matrix_weights(order.raised(whole) if form.is_raised else whole)


def _biases(weights: Array, biases: Array, form: Form) -> Array:
    lowered = order.EXCESS * weights.astype(np.int32).sum(axis=1) if form.is_raised else 0
    return np.asarray(biases - lowered, np.int32)


def _row_bytes(depth: int, form: Form) -> int:
    return WORD * (depth if form.is_raised else pieces(depth, WORD))


def _sums(form: Form) -> RowSums:
    return RowSums(
        form.sources | HEADERS | {"ethosgen_thumb_sums.c"},
        partial(_weights, form=form),
        partial(_biases, form=form),
        partial(_row_bytes, form=form),
    )


SUMS = {form: _sums(form) for form in (ARMV7M, ARMV6M)}


def _moved_armv6m(size: int, is_aligned: bool) -> float:
    """Return the estimated cycles of copying or filling bytes on Armv6-M."""
    blocks, rest = divmod(size, BLOCK) if is_aligned else (0, size)
    words, rest = divmod(rest, WORD) if is_aligned else (0, rest)
    return 25 + 6.0 * blocks + 5.0 * words + 5.0 * rest


def _pad(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Copy rows, and fill the gaps between them."""
    return padding("ethosgen_dsp_pad_s8", CorePad, PAD_SOURCES, op, tensors)


@packed("AVERAGE_POOL_2D", cycles=cost.AVERAGES)
def _average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window."""
    if op.options.get(UNSIGNED):
        return None
    return pool_kernel("ethosgen_thumb_average_pool_s8", CorePool, POOL, op, tensors)


@packed("MAX_POOL_2D", cycles=cost.MAXIMA)
def _max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the pixels of a window."""
    return pool_kernel("ethosgen_thumb_max_pool_s8", CorePool, POOL, op, tensors)


def layers_of(
    form: Form, moving: Callable[[int, bool], float], rows: RowCopies
) -> tuple[Packed, ...]:
    """Declare the operators of an architecture; `moving` estimates the cycles of moving bytes."""
    multiplication = form.multiplication
    depthwise_cycles = partial(depthwise.cycles, form=form)
    pad_cycles = estimate(moving)
    pads = packed("PAD", cycles=pad_cycles)(_pad)
    return (
        packed("FULLY_CONNECTED", cycles=cost.DENSE)(multiplication.dense),
        packed("CONV_2D", cycles=cost.CONVOLUTION)(multiplication.conv_2d),
        packed("DEPTHWISE_CONV_2D", cycles=depthwise_cycles)(
            partial(depthwise.depthwise, form=form)
        ),
        # Without an estimate: the plain kernel's is for Helium, half of its cost here.
        packed("TRANSPOSE_CONV")(partial(matrix.transpose_conv, form=form)),
        packed("SVDF", cycles=cost.svdf)(partial(svdf_of, sums=SUMS[form])),
        packed("UNIDIRECTIONAL_SEQUENCE_LSTM", cycles=cost.lstm)(partial(lstm_of, sums=SUMS[form])),
        packed("PAD", dtype="int16", cycles=pad_cycles)(pads),
        packed("BATCH_MATMUL", cycles=cost.matrix_product)(product_kernel),
        *(_average_pool_2d, _max_pool_2d, *rows.packs()),
    )


_COPY = ("ethosgen_dsp_copy_rows", CoreRows, PAD_SOURCES)
ARMV7M_LAYERS = layers_of(ARMV7M, moved, RowCopies(*_COPY, least=16, cycles=row_cycles))
ARMV6M_LAYERS = layers_of(ARMV6M, _moved_armv6m, RowCopies(*_COPY, least=4, cycles=None))
"""Copies have no estimate: there, memcpy of newlib copies bytes, at 8 instructions each."""
