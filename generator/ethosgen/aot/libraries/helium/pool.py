"""Pools of int8 and int16 over windows; those of int8 also over the whole height and width."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.calls import pool_kernel
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.sizes import LayerSizes, estimate_of, sizes_of
from ethosgen.aot.libraries.helium import cost
from ethosgen.aot.libraries.helium.shapes import HeliumPool, HeliumPoolS16
from ethosgen.aot.loops.window import pool_bounds, pool_window
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tvm import tirx
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

MEAN = frozenset({"ethosgen_mean.c"})
POOL = frozenset({"ethosgen_pool.c"})
POOL_S16 = frozenset({"ethosgen_pool_s16.c"})
LANES = 8


@packed("AVERAGE_POOL_2D", cycles=cost.AVERAGES)
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average all pixels or those of a window, several channels at a time."""
    if op.options.get(UNSIGNED):
        return None
    sizes = sizes_of(op, tensors)
    is_padded = any(axis.padding for axis in pool_window(op, tensors))
    if cost.is_mean(sizes) and not is_padded:
        return _mean(op, tensors)
    if sizes.taps > cost.MOST_TAPS:
        return None
    return pool_kernel("ethosgen_average_pool_s8", HeliumPool, POOL, op, tensors)


@packed("MAX_POOL_2D", cycles=cost.MAXIMA)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the pixels of a window, 16 channels at a time."""
    return pool_kernel("ethosgen_max_pool_s8", HeliumPool, POOL, op, tensors)


def _mean(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    count, channels = source.shape[1] * source.shape[2], source.shape[3]
    low, high = pool_bounds(op, tensors)

    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    with nest.loop("n", source.shape[0]) as n:
        ends = tirx.address_of(y[n, 0, 0, 0]), tirx.address_of(x[n, 0, 0, 0])
        nest.call("ethosgen_mean_s8", *ends, count, channels, low, high)
    return nest.kernel(MEAN)


def _maxima(sizes: LayerSizes) -> float:
    pairs, rest = divmod(sizes.channels, 2 * LANES)
    groups = pieces(rest, LANES)
    return sizes.pixels * (
        40
        + pairs * (22 + sizes.taps_y * (6 + 6.0 * sizes.taps_x))
        + groups * (25 + 6.5 * sizes.taps)
    )


def _averages(sizes: LayerSizes) -> float:
    return sizes.pixels * (70 + pieces(sizes.channels, LANES) * (60 + 7.5 * sizes.taps))


@packed("MAX_POOL_2D", dtype="int16", cycles=estimate_of(_maxima), for_helium=True)
def max_pool_2d_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the pixels of a window, up to 16 channels at a time."""
    return pool_kernel("ethosgen_max_pool_s16", HeliumPoolS16, POOL_S16, op, tensors)


@packed("AVERAGE_POOL_2D", dtype="int16", cycles=estimate_of(_averages), for_helium=True)
def average_pool_2d_s16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Average the pixels of a window, 8 channels at a time."""
    taps = sizes_of(op, tensors).taps
    # The kernel divides by a product with the reciprocal, which is exact for this many taps.
    if taps * ((taps << 15) + taps // 2) >= 1 << 32:
        return None
    return pool_kernel("ethosgen_average_pool_s16", HeliumPoolS16, POOL_S16, op, tensors)
