"""Rows times weights: FULLY_CONNECTED, CONV_2D, and the depthwise convolution of one channel."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.dsp import cost, order
from ethosgen.aot.libraries.dsp.shapes import DspMatrix
from ethosgen.aot.libraries.framework.calls import (
    is_contiguous,
    rows_kernel,
    window_of,
    windows_kernel,
)
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.framework.scales import channel_scales
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

MATRIX = frozenset({"ethosgen_dsp_matrix.c", "ethosgen_dsp_tile.h"})
CONVOLUTION = MATRIX | {"ethosgen_dsp_convolution.c", "ethosgen_dsp_window.h"}
FEW = CONVOLUTION | {"ethosgen_dsp_few.c"}
ROOM, PATCH = 8, 1
"""Bytes of temporary memory for each place: rows of 16 bits, and the pixels under a window."""


@packed("FULLY_CONNECTED", cycles=cost.DENSE)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    return _product(layer, weights.reshape(-1, weights.shape[-1]))


@packed("CONV_2D", cycles=cost.CONVOLUTION)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply pixels by weights if a window is one pixel, else the pixels under each window."""
    layer = packable_layer(op, tensors)
    return None if layer is None else convolution(op, layer, layer.weights.array())


def convolution(op: Operator, layer: Layer, weights: Array) -> Kernel | None:
    """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
    vertical, horizontal = make_window(op, weights.shape[1:3], layer.source, layer.target)
    flat = weights.reshape(len(weights), -1)
    if is_contiguous(layer, weights, vertical, horizontal):
        return _product(layer, flat)
    return _windows(layer, flat, weights.shape[3], vertical, horizontal)


def _product(layer: Layer, weights: Array) -> Kernel | None:
    """Return a kernel for rows that are contiguous in the input, None if there is none."""
    constants = matrix_constants(layer, weights, 1)
    if constants is None:
        return None
    if layer.channels <= cost.MOST_FEW:
        return rows_kernel(layer, f"ethosgen_dsp_few_{layer.channels}_s8", constants, 0, FEW)
    room = ROOM * whole_steps(weights.shape[1])
    return rows_kernel(layer, "ethosgen_dsp_matrix_s8", constants, room, MATRIX)


def _windows(
    layer: Layer, weights: Array, depth: int, vertical: Axis, horizontal: Axis
) -> Kernel | None:
    """Return a kernel that copies the pixels under each window, group by group."""
    groups = layer.source.shape[3] // depth
    constants = matrix_constants(layer, weights, groups)
    if constants is None:
        return None
    room = (ROOM + PATCH) * whole_steps(weights.shape[1])
    function, files = window_function(layer.channels // groups)
    window = window_of(layer, depth, vertical, horizontal)
    return windows_kernel(layer, depth, function, constants, window, room, files)


def window_function(channels: int) -> tuple[str, frozenset[str]]:
    """Return the C function for windows over a group of `channels` outputs, and its files."""
    if channels <= cost.MOST_FEW:
        return f"ethosgen_dsp_few_windows_{channels}_s8", FEW
    return "ethosgen_dsp_convolution_s8", CONVOLUTION


def whole_steps(depth: int) -> int:
    """Return a depth rounded up to whole steps of the kernel."""
    return -(-depth // order.STEP) * order.STEP


def matrix_constants(
    layer: Layer, weights: Array, groups: int = 1, stride: int | None = None
) -> tuple[Array, Array, DspMatrix] | None:
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
        np.concatenate([order.matrix_weights(part) for part in np.split(weights, groups)]),
        np.concatenate([order.matrix_scales(part) for part in np.split(scales, groups)]),
        matrix,
    )
