"""int16 rows times int8 weights: FULLY_CONNECTED, CONV_2D, the depthwise convolution of a channel.

Layers have 64-bit sums, as TFLite's layers without a bias of 32 bits.
"""

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.cost_s16 import CONVOLUTION, DENSE
from ethosgen.aot.libraries.dsp.shapes import DspMatrixS16
from ethosgen.aot.libraries.framework.calls import CFunction, Constants, Multiplication
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, by_group, layer_s16
from ethosgen.aot.loops.layer import Layer

MATRIX = frozenset({"ethosgen_dsp_matrix_s16.c", "ethosgen_dsp_tile_s16.h"})
WINDOWS = MATRIX | {"ethosgen_dsp_convolution_s16.c"}
ROOM = 8
"""Bytes of temporary memory for each place of a row: those of 4 rows."""


def _room(depth: int) -> int:
    return ROOM * -(-depth // order.PAIR) * order.PAIR


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
