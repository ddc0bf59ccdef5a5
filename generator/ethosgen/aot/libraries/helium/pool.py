"""Pools of int8, over the whole height and width or over windows."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.pools import windows
from ethosgen.aot.libraries.framework.sizes import sizes_of
from ethosgen.aot.libraries.helium import cost
from ethosgen.aot.libraries.helium.shapes import HeliumPool
from ethosgen.aot.loops.window import pool_bounds, pool_window
from ethosgen.aot.tir.kernel import UNSIGNED, Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

MEAN = frozenset({"ethosgen_mean.c"})
POOL = frozenset({"ethosgen_pool.c"})


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
    return windows("ethosgen_average_pool_s8", HeliumPool, POOL, op, tensors)


@packed("MAX_POOL_2D", cycles=cost.MAXIMA)
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Find the maximum of the pixels of a window, 16 channels at a time."""
    return windows("ethosgen_max_pool_s8", HeliumPool, POOL, op, tensors)


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
