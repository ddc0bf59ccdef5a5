"""DEPTHWISE_CONV_2D of int16."""

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from ethosgen.aot.cost import TwoForms, per_product
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed import order, packed
from ethosgen.aot.packed.wide_matrix import kernel_of, matrix_of
from ethosgen.values.network import Operator, Tensor

CYCLES = TwoForms(
    per_product(int8=2.0, int16=2.0, dims=slice(1, 3)),
    per_product(int8=12.0, int16=12.0, dims=slice(1, 3), output=50.0),
)
FILES = frozenset({"ethosgen_depthwise_s16.c", "ethosgen_wide.h"})


@packed("DEPTHWISE_CONV_2D", dtype="int16", cycles=CYCLES)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all channels of an output pixel in one call, from the taps inside the input."""
    matrix = matrix_of(op, tensors)
    if matrix is not None:
        return kernel_of(op, matrix)
    layer = order.packable_layer(op, tensors)
    if layer is None:
        return None
    source, target = layer.source, layer.target
    _, height, width, channels = layer.weights.shape
    if source.shape[3] != channels:
        return None
    vertical, horizontal = make_window(op, (height, width), source, target)
    row, tap = vertical.dilation * source.shape[2] * channels, horizontal.dilation * channels
    numbers = (channels, row, tap, width * channels, 0, *layer.bounds)
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    w = nest.read("weights", layer.weights)
    scales = nest.table("scales", order.wide_scales(layer).reshape(-1))
    shape = nest.table("shape", np.array(numbers, np.int32))
    with nest.loops(target.shape[:3]) as (n, oy, ox):
        (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
        first = x[n, vertical.position(oy, top), horizontal.position(ox, left), 0]
        nest.call(
            "ethosgen_depthwise_pixel_s16",
            *(tirx.address_of(y[n, oy, ox, 0]), tirx.address_of(first)),
            *(tirx.address_of(w[0, top, left, 0]), bottom - top, right - left),
            *(scales.data, shape.data),
        )
    return nest.kernel(FILES)
