"""Rows times weights: FULLY_CONNECTED, CONV_2D, and the depthwise convolution of one channel."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethosgen.aot.libraries.framework.calls import (
    is_contiguous,
    rows_kernel,
    window_of,
    windows_kernel,
)
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.thumb import order
from ethosgen.aot.libraries.thumb.shapes import ThumbMatrix
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

ROWS = 2
"""Rows that the kernel multiplies at a time."""
WORD = 4
CONVOLUTION = "ethosgen_thumb_convolution_s8"
"""The function for windows, on either architecture."""


@dataclass(frozen=True)
class Form:
    """The kernel of an architecture; `is_raised` if it adds 128 to weights and values."""

    function: str
    source: str
    is_raised: bool

    @property
    def sources(self) -> frozenset[str]:
        """The files that the kernel needs."""
        return frozenset({self.source, "ethosgen_thumb_tile.h"})

    @property
    def convolution_sources(self) -> frozenset[str]:
        """The files that its convolution needs."""
        return self.sources | {"ethosgen_thumb_convolution.c"}

    def words(self, depth: int) -> int:
        """Return the words of temporary memory."""
        return depth if self.is_raised else 0


ARMV7M = Form("ethosgen_thumb_matrix_s8", "ethosgen_thumb_matrix.c", is_raised=False)
ARMV6M = Form("ethosgen_thumb_pairs_s8", "ethosgen_thumb_pairs.c", is_raised=True)
SINGLE = Form("ethosgen_thumb_single_s8", "ethosgen_thumb_single.c", is_raised=False)
"""A convolution to one channel, on either architecture."""


def dense(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    return _product(layer, weights.reshape(-1, weights.shape[-1]), form)


def conv_2d(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Multiply pixels by weights if a window is one pixel, else the pixels under each window."""
    layer = packable_layer(op, tensors)
    return None if layer is None else convolution(op, layer, layer.weights.array(), form)


def convolution(op: Operator, layer: Layer, weights: Array, form: Form) -> Kernel | None:
    """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
    vertical, horizontal = make_window(op, weights.shape[1:3], layer.source, layer.target)
    flat = weights.reshape(len(weights), -1)
    if is_contiguous(layer, weights, vertical, horizontal):
        return _product(layer, flat, form)
    return _windows(layer, flat, weights.shape[3], (vertical, horizontal), form)


def _product(layer: Layer, weights: Array, form: Form) -> Kernel | None:
    """Return a kernel for rows that are contiguous in the input, None if there is none."""
    made = constants(layer, weights, form)
    if made is None:
        return None
    room = WORD * form.words(weights.shape[1])
    return rows_kernel(layer, form.function, made, room, form.sources)


def _windows(
    layer: Layer, weights: Array, depth: int, axes: tuple[Axis, Axis], form: Form
) -> Kernel | None:
    """Return a kernel that copies the pixels under each window, group by group."""
    made = constants(layer, weights, form, layer.source.shape[3] // depth)
    if made is None:
        return None
    room = room_bytes(weights.shape[1], form)
    shape = window_of(layer, depth, *axes)
    return windows_kernel(layer, depth, CONVOLUTION, made, shape, room, form.convolution_sources)


def room_bytes(depth: int, form: Form) -> int:
    """Return the temporary memory of a convolution whose windows have so many values."""
    return WORD * form.words(depth) + ROWS * depth


def constants(
    layer: Layer, weights: Array, form: Form, groups: int = 1, stride: int | None = None
) -> tuple[Array, Array, ThumbMatrix] | None:
    """Return packed weights and scales, group by group, and the struct of the layer.

    The outputs of a row and those of the next are `stride` apart, or else adjacent. None if the
    kernel cannot compute the layer.
    """
    scales = order.thumb_scales(layer, weights)
    if scales is None:
        return None
    if form.is_raised:
        scales, weights = order.lowered(scales, weights), order.raised(weights)
    channels, depth = layer.channels // groups, weights.shape[1]
    low, high = layer.whole_bounds
    matrix = ThumbMatrix(
        depth=depth,
        channels=channels,
        stride=stride or layer.channels,
        low=low,
        high=high,
        words=form.words(depth),
    )
    return (
        np.concatenate([order.matrix_weights(part) for part in np.split(weights, groups)]),
        np.concatenate([order.matrix_scales(part) for part in np.split(scales, groups)]),
        matrix,
    )
