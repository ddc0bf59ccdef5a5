"""SVDF and LSTM of int8: the C for DSP instructions, with this library's sums."""

from functools import partial

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, padded
from ethosgen.aot.libraries.framework.recurrent import RowSums
from ethosgen.aot.libraries.thumb import order
from ethosgen.aot.libraries.thumb.matrix import ARMV6M, ARMV7M, WORD, Form

HEADERS = {"ethosgen_dsp_math.h"}
"""What the C for DSP instructions includes."""


def _weights(block: Array, form: Form) -> Array:
    """Pack a block of (filter, depth); its C sums filters in pairs."""
    whole = padded(block, 2)
    return order.matrix_weights(order.raised(whole) if form.is_raised else whole)


def _biases(weights: Array, biases: Array, form: Form) -> Array:
    lowered = order.EXCESS * weights.astype(np.int32).sum(axis=1) if form.is_raised else 0
    return np.asarray(biases - lowered, np.int32)


def _row_bytes(depth: int, form: Form) -> int:
    return WORD * (depth if form.is_raised else -(-depth // WORD))


def _sums(form: Form) -> RowSums:
    return RowSums(
        form.sources | HEADERS | {"ethosgen_thumb_sums.c"},
        partial(_weights, form=form),
        partial(_biases, form=form),
        partial(_row_bytes, form=form),
    )


SUMS = {form: _sums(form) for form in (ARMV7M, ARMV6M)}
