"""int16 rows times int8 weights: FULLY_CONNECTED, CONV_2D, the depthwise convolution of a channel.

Layers have 64-bit sums, as TFLite's layers without a bias of 32 bits.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.cost_s16 import CONVOLUTION, DENSE
from ethosgen.aot.libraries.dsp.shapes import DspMatrixS16
from ethosgen.aot.libraries.framework.calls import (
    is_contiguous,
    rows_kernel,
    window_of,
    windows_kernel,
)
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, layer_s16
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

MATRIX = frozenset({"ethosgen_dsp_matrix_s16.c", "ethosgen_dsp_tile_s16.h"})
WINDOWS = MATRIX | {"ethosgen_dsp_convolution_s16.c"}
ROOM = 8
"""Bytes of temporary memory for each place of a row: those of 4 rows."""


@packed("FULLY_CONNECTED", dtype="int16", cycles=DENSE)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = layer_s16(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    return _product(layer, weights.reshape(-1, weights.shape[-1]))


@packed("CONV_2D", dtype="int16", cycles=CONVOLUTION)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply pixels by weights if a window is one pixel, else the pixels under each window."""
    layer = layer_s16(op, tensors)
    return None if layer is None else convolution(op, layer, layer.weights.array())


def convolution(op: Operator, layer: Layer, weights: Array) -> Kernel | None:
    """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
    axes = make_window(op, weights.shape[1:3], layer.source, layer.target)
    flat = weights.reshape(len(weights), -1)
    if is_contiguous(layer, weights, *axes):
        return _product(layer, flat)
    return _windows(layer, flat, weights.shape[3], *axes)


def _product(layer: Layer, weights: Array) -> Kernel | None:
    """Return a kernel for rows that are contiguous in the input, None if there is none."""
    constants = _constants(layer, weights, 1)
    if constants is None:
        return None
    return rows_kernel(layer, "ethosgen_dsp_matrix_s16", constants, _room(weights), MATRIX)


def _windows(
    layer: Layer, weights: Array, depth: int, vertical: Axis, horizontal: Axis
) -> Kernel | None:
    """Return a kernel that copies the pixels under each window, group by group."""
    constants = _constants(layer, weights, layer.source.shape[3] // depth)
    if constants is None:
        return None
    window = window_of(layer, depth, vertical, horizontal)
    function = "ethosgen_dsp_convolution_s16"
    return windows_kernel(layer, depth, function, constants, window, _room(weights), WINDOWS)


def _room(weights: Array) -> int:
    depth: int = weights.shape[1]
    return ROOM * -(-depth // order.PAIR) * order.PAIR


def _constants(
    layer: Layer, weights: Array, groups: int
) -> tuple[Array, Array, DspMatrixS16] | None:
    """Return packed weights and scales, group by group, and the struct of the layer.

    None if the kernel cannot compute the layer.
    """
    scales = order.scales(layer, weights)
    if scales is None:
        return None
    matrix = matrix_of(weights, scales, layer.whole_bounds, groups)
    return (
        np.concatenate([order.matrix_weights(part) for part in np.split(weights, groups)]),
        np.concatenate([order.matrix_scales(part) for part in np.split(scales, groups)]),
        matrix,
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
