"""DEPTHWISE_CONV_2D of float32."""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.libraries.floats import cost, order
from ethosgen.aot.libraries.floats.matrix import convolution, sizes_of, two_forms, whole_convolution
from ethosgen.aot.libraries.floats.shapes import FloatDepthwise
from ethosgen.aot.libraries.framework.calls import CFunction, pixels_kernel
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import padded
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

FILES = frozenset({"ethosgen_depthwise_f32.c"})
PIXEL = 60
"""Instructions of an output pixel outside the loop over channels."""
BLOCK = {cost.HELIUM: (25, 5, 7.0), cost.IN_C: (80, 5, 13.0)}
"""Instructions of 4 channels of a pixel: by themselves, for a row of taps, and for a tap."""


def _whole(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    if source.shape[3] == 1:
        return whole_convolution(by, op, tensors)
    _, height, width, channels = weights.shape
    once, row, tap = BLOCK[by]
    rows, columns = (1, height) if width == 1 else (height, width)
    block = once + rows * (row + columns * tap)
    return target.elements / channels * (PIXEL + pieces(channels, order.BLOCK) * block)


@packed("DEPTHWISE_CONV_2D", dtype="float32", cycles=two_forms(_whole))
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all channels of an output pixel in one call, from the taps inside the input."""
    layer = order.float_layer(op, tensors)
    if layer is None:
        return None
    depth = layer.source.shape[3]
    if depth == 1:
        weights = layer.weights.array().transpose(3, 1, 2, 0)
        return convolution(layer, weights, sizes_of(op, tensors))
    _, height, width, channels = layer.weights.shape
    window = make_window(op, (height, width), layer.source, layer.target)
    steps = window[1].dilation * depth, window[0].dilation * layer.source.shape[2] * depth
    is_column = width == 1
    biases = np.concatenate([layer.bounds, padded(order.biases_of(layer), order.BLOCK)])
    constants: dict[str, Table] = {"biases": biases.astype(np.float32)}
    if depth < channels:
        places = np.arange(channels) // (channels // depth)
        constants["places"] = padded(places.astype(np.uint32), order.BLOCK)
    constants["shape"] = FloatDepthwise(
        channels=channels,
        tap_floats=steps[is_column],
        row_floats=steps[1],
        weight_row=width * channels,
    )
    copies = "_copies" if depth < channels else ""
    function = CFunction(f"ethosgen_depthwise{copies}_f32", FILES)
    return pixels_kernel(layer, window, function, constants, is_column, "n oy ox")
