"""DEPTHWISE_CONV_2D of int16."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.cost import TwoForms, per_product
from ethosgen.aot.libraries.framework.calls import CFunction, pixels_kernel
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, packable_layer, padded
from ethosgen.aot.libraries.helium import order
from ethosgen.aot.libraries.helium.matrix_s16 import (
    helium_cycles,
    is_spread,
    kernel_of,
    matrix_of,
    narrow_table,
)
from ethosgen.aot.libraries.helium.shapes import HeliumDepthwiseS16, output_of
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

FILES = frozenset({"ethosgen_depthwise_s16.c", "ethosgen_sums_s16.h", "ethosgen_wide.h"})
LANES = 8
"""Channels that the kernel computes at a time."""


def _is_matrix(op: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether a layer has one input channel, or several outputs for each."""
    channels = tensors[op.inputs[0]].shape[3]
    return channels == 1 or channels != tensors[op.outputs[0]].shape[3]


def _has_copies(op: Operator, tensors: Sequence[Tensor]) -> bool:
    return _is_matrix(op, tensors) and is_spread(op, tensors)


def _helium(op: Operator, tensors: Sequence[Tensor]) -> float:
    if _is_matrix(op, tensors):
        return helium_cycles(op, tensors)
    _, height, width, channels = tensors[op.inputs[1]].shape
    groups, rest = divmod(channels, LANES)
    taps = height * (8 + 9.0 * width)
    return (50 + groups * (40 + taps) + bool(rest) * (45 + 1.4 * taps)) / channels


CYCLES = TwoForms(_helium, per_product(int8=12.0, int16=12.0, dims=slice(1, 3), output=50.0))


@packed("DEPTHWISE_CONV_2D", dtype="int16", cycles=CYCLES, for_helium=_has_copies)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all channels of an output pixel in one call, from the taps inside the input."""
    if _is_matrix(op, tensors):
        matrix = matrix_of(op, tensors)
        return None if matrix is None else kernel_of(op, matrix)
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    _, height, width, channels = layer.weights.shape
    window = make_window(op, (height, width), layer.source, layer.target)
    shape = HeliumDepthwiseS16(
        channels=channels,
        row_elements=window[0].dilation * layer.source.shape[2] * channels,
        tap_elements=window[1].dilation * channels,
        weight_row=width * channels,
        output=output_of(layer),
    )
    table = narrow_table(layer, layer.weights.array().reshape(-1, channels).T)
    form = "_wide" if table is None else ""
    scales = order.scales_s64(layer).reshape(-1) if table is None else _scales(table)
    function = CFunction(f"ethosgen_depthwise_pixel{form}_s16", FILES)
    return pixels_kernel(layer, window, function, {"scales": scales, "shape": shape})


def _scales(table: Array) -> Array:
    """Pack (channels, 3): for every 8 channels biases, mantissas, shifts, even channels first."""
    blocks = padded(table, LANES).reshape(-1, LANES, 3)
    lanes = [*range(0, LANES, 2), *range(1, LANES, 2)]
    return np.ascontiguousarray(blocks[:, lanes].transpose(0, 2, 1)).reshape(-1)
