"""Pools of int16 over windows."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.pools import windows
from ethosgen.aot.libraries.framework.sizes import LayerSizes, estimate_of, sizes_of
from ethosgen.aot.libraries.helium.shapes_s16 import HeliumPoolS16
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

POOL = frozenset({"ethosgen_pool_s16.c"})
LANES = 8


def _maxima(one: LayerSizes) -> float:
    pairs, rest = divmod(one.channels, 2 * LANES)
    groups = -(-rest // LANES)
    return one.pixels * (
        40 + pairs * (22 + one.taps_y * (6 + 6.0 * one.taps_x)) + groups * (25 + 6.5 * one.taps)
    )


def _averages(one: LayerSizes) -> float:
    return one.pixels * (70 + -(-one.channels // LANES) * (60 + 7.5 * one.taps))


@packed("MAX_POOL_2D", dtype="int16", cycles=estimate_of(_maxima), for_helium=True)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the pixels of a window, up to 16 channels at a time."""
    return windows("ethosgen_max_pool_s16", HeliumPoolS16, POOL, op, tensors)


@packed("AVERAGE_POOL_2D", dtype="int16", cycles=estimate_of(_averages), for_helium=True)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window, 8 channels at a time."""
    taps = sizes_of(op, tensors).taps
    # The kernel divides by a product with the reciprocal, which is exact for so many taps.
    if taps * ((taps << 15) + taps // 2) >= 1 << 32:
        return None
    return windows("ethosgen_average_pool_s16", HeliumPoolS16, POOL, op, tensors)
