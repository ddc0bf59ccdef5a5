"""Biases, mantissas and shifts of channels, with common shifts as far as possible.

With these the kernels round, add the zero point and saturate in one instruction. Trained networks
have dead channels, whose weights are 0 and whose multipliers are tiny.
"""

import numpy as np

from ethosgen.aot.libraries.framework.order import Array, channel_table
from ethosgen.aot.loops.layer import Layer

LIMIT = frozenset({"ethosgen_limit.c"})
"""The bounds of outputs of the kernels that only saturate."""
COMMON = (-22, -2)
"""The least and the greatest shift that the kernels do not treat apart."""
BITS = 8
"""The places of a constant output in its new bias."""


def settled_table(layer: Layer, weights: Array) -> Array:
    """Return the `channel_table` in which channels of constant outputs have common shifts."""
    table = channel_table(layer, weights).astype(np.int64)
    value, is_constant = _constants(table, weights.astype(np.int64))
    changed = is_constant & ~_is_common(table)
    table[changed, 0] = np.clip(value[changed], -512, 511) << BITS
    table[changed, 1] = (1 << 30) * (value[changed] != 0)
    table[changed, 2] = 1 - BITS
    return table.astype(np.int32)


def _constants(table: Array, weights: Array) -> tuple[Array, Array]:
    """Return the least output of each channel, and whether all are 0, or come from the bias."""
    least, most = (
        table[:, 0] + np.where(weights > 0, weights * above, weights * below).sum(axis=1)
        for above, below in ((-128, 127), (127, -128))
    )
    value = _requantized(least, table)
    wraps = (least < -(1 << 31)) | (most >= 1 << 31)
    is_zero = (value == 0) & (_requantized(most, table) == 0) & ~wraps
    return value, is_zero | (least == most)


def has_common_shifts(table: Array) -> bool:
    """Return whether all shifts are common."""
    return bool(_is_common(table).all())


def _is_common(table: Array) -> Array:
    shifts = table[:, 2]
    return np.asarray((shifts >= COMMON[0]) & (shifts <= COMMON[1]))


def _requantized(sums: Array, table: Array) -> Array:
    """Return TFLite's outputs without zero point and bounds."""
    product = (sums * table[:, 1] + (1 << 30)) >> 31
    shift = -table[:, 2]
    half = (1 << shift) >> 1
    return np.asarray((product - ((product < 0) & (shift > 0)) + half) >> shift)
