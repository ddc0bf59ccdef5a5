"""int16 rows times int8 weights: FULLY_CONNECTED, CONV_2D and DEPTHWISE_CONV_2D.

Layers have 64-bit sums, like TFLite's layers without a 32-bit bias.
"""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.cost_s16 import CONVOLUTION, DENSE, DEPTHWISE
from ethosgen.aot.libraries.dsp.shapes import DspDepthwiseS16, DspMatrixS16
from ethosgen.aot.libraries.framework.calls import (
    CFunction,
    Constants,
    Multiplication,
    pixels_kernel,
)
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, by_group, layer_s16
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

MATRIX = frozenset({"ethosgen_dsp_matrix_s16.c", "ethosgen_dsp_tile_s16.h"})
WINDOWS = MATRIX | {"ethosgen_dsp_convolution_s16.c"}
ROOM = 8
"""Bytes of temporary memory for each place of a row: those of 4 rows."""
DEPTHWISE_FILES = frozenset({"ethosgen_dsp_depthwise_s16.c"})


def _room(depth: int) -> int:
    return ROOM * pieces(depth, order.PAIR) * order.PAIR


def _constants(layer: Layer, weights: Array, groups: int) -> Constants | None:
    """Return packed weights and scales, group by group, and the struct of the layer.

    None if the kernel cannot compute the layer.
    """
    scales = order.scales(layer, weights)
    if scales is None:
        return None
    return (
        by_group(order.matrix_weights, weights, groups),
        by_group(order.matrix_scales, scales, groups),
        matrix_of(weights, scales, layer.whole_bounds, groups),
    )


def matrix_of(
    weights: Array, scales: Array, bounds: tuple[int, int], groups: int = 1
) -> DspMatrixS16:
    """Return the struct of weights of (channels, depth)."""
    channels, depth = weights.shape
    return DspMatrixS16(
        depth=depth,
        part=order.part(weights, scales),
        channels=channels // groups,
        stride=channels,
        low=bounds[0],
        high=bounds[1],
    )


MULTIPLICATION = Multiplication(
    layer_s16,
    _constants,
    lambda _, depth: CFunction("ethosgen_dsp_matrix_s16", MATRIX, _room(depth)),
    lambda _, depth: CFunction("ethosgen_dsp_convolution_s16", WINDOWS, _room(depth)),
)
fully_connected = packed("FULLY_CONNECTED", dtype="int16", cycles=DENSE)(MULTIPLICATION.dense)
conv_2d = packed("CONV_2D", dtype="int16", cycles=CONVOLUTION)(MULTIPLICATION.conv_2d)


@packed("DEPTHWISE_CONV_2D", dtype="int16", cycles=DEPTHWISE)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all channels of a pixel in one call; several of one input channel are convolved."""
    layer = layer_s16(op, tensors)
    if layer is None:
        return None
    source, weights = layer.source, layer.weights.array()
    if source.shape[3] == 1 < layer.channels:
        return MULTIPLICATION.convolution(op, layer, weights.transpose(3, 1, 2, 0))
    flat = weights.reshape(-1, layer.channels).T
    scales = order.scales(layer, flat)
    if scales is None or order.part(flat, scales):
        return None
    window = make_window(op, weights.shape[1:3], source, layer.target)
    _, _, width, depth = source.shape
    low, high = layer.whole_bounds
    shape = DspDepthwiseS16(
        channels=layer.channels,
        copies=layer.channels // depth,
        row=window[0].dilation * width * depth,
        tap=window[1].dilation * depth,
        weight_row=weights.shape[2] * layer.channels,
        low=low,
        high=high,
    )
    function = CFunction("ethosgen_dsp_depthwise_s16", DEPTHWISE_FILES)
    constants: dict[str, Table] = {"scales": scales.reshape(-1), "shape": shape}
    return pixels_kernel(layer, window, function, constants)
