"""Rows times weights: FULLY_CONNECTED, CONV_2D, the depthwise convolution of one channel.

TRANSPOSE_CONV becomes ordinary convolutions, one for each phase of its strides.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.dsp import cost, order
from ethosgen.aot.libraries.dsp.shapes import DspMatrix
from ethosgen.aot.libraries.framework.calls import CFunction, Constants, Multiplication
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, by_group, packable_layer
from ethosgen.aot.libraries.framework.scales import channel_scales
from ethosgen.aot.libraries.framework.transposed import cheapest_windows, windows_of_parts
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Operator, Tensor

MATRIX = frozenset({"ethosgen_dsp_matrix.c", "ethosgen_dsp_tile.h"})
CONVOLUTION = MATRIX | {"ethosgen_dsp_convolution.c", "ethosgen_dsp_window.h"}
FEW = CONVOLUTION | {"ethosgen_dsp_few.c"}
ROOM, PATCH = 8, 1
"""Bytes of temporary memory for each place: rows of 16 bits, and the pixels under a window."""


def _for_rows(channels: int, depth: int) -> CFunction:
    if channels <= cost.MOST_FEW:
        return CFunction(f"ethosgen_dsp_few_{channels}_s8", FEW)
    return CFunction("ethosgen_dsp_matrix_s8", MATRIX, ROOM * whole_steps(depth), ahead=0)


def for_windows(channels: int, depth: int) -> CFunction:
    """Return the function for windows of `depth` values, and a group of `channels` outputs."""
    room = (ROOM + PATCH) * whole_steps(depth)
    if channels <= cost.MOST_FEW:
        return CFunction(f"ethosgen_dsp_few_windows_{channels}_s8", FEW, room, ahead=1)
    return CFunction("ethosgen_dsp_convolution_s8", CONVOLUTION, room, ahead=1)


def whole_steps(depth: int) -> int:
    """Return a depth rounded up to whole steps of the kernel."""
    return rounded_up(depth, order.STEP)


def matrix_constants(
    layer: Layer, weights: Array, groups: int = 1, stride: int | None = None
) -> Constants | None:
    """Return packed weights and scales, group by group, and the struct of the layer.

    The outputs of a row and those of the next are `stride` apart, or else adjacent. None if the
    kernel cannot compute the layer.
    """
    scales = channel_scales(layer, weights)
    if scales is None:
        return None
    channels, depth = layer.channels // groups, weights.shape[1]
    first, part = order.parts(weights.reshape(groups, channels, depth))
    low, high = layer.whole_bounds
    matrix = DspMatrix(
        depth=depth,
        first=first,
        part=part,
        channels=channels,
        stride=stride or layer.channels,
        low=low,
        high=high,
    )
    if channels <= cost.MOST_FEW:
        rows = order.depthwise_weights(weights.T[np.newaxis])
        return rows, order.depthwise_scales(scales), matrix
    return (
        by_group(order.matrix_weights, weights, groups),
        by_group(order.matrix_scales, scales, groups),
        matrix,
    )


MULTIPLICATION = Multiplication(packable_layer, matrix_constants, _for_rows, for_windows)
fully_connected = packed("FULLY_CONNECTED", cycles=cost.DENSE)(MULTIPLICATION.dense)
conv_2d = packed("CONV_2D", cycles=cost.CONVOLUTION)(MULTIPLICATION.conv_2d)


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    return cheapest_windows(op, tensors, cost.windows)[1]


@packed("TRANSPOSE_CONV", cycles=estimate)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write the part's outputs at their stride."""
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_windows(op, tensors, cost.windows)[0]
    if layer is None or not parts:
        return None
    function = for_windows(parts[0].channels, max(part.products for part in parts))
    return windows_of_parts(layer, parts, matrix_constants, function)
