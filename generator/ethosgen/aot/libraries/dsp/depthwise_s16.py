"""DEPTHWISE_CONV_2D of int16."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.cost_s16 import DEPTHWISE
from ethosgen.aot.libraries.dsp.matrix_s16 import convolution
from ethosgen.aot.libraries.dsp.shapes import DspDepthwiseS16
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import layer_s16
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

DEPTHWISE_FILES = frozenset({"ethosgen_dsp_depthwise_s16.c"})


@packed("DEPTHWISE_CONV_2D", dtype="int16", cycles=DEPTHWISE)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute all channels of a pixel in one call; several of one input channel are convolved."""
    layer = layer_s16(op, tensors)
    if layer is None:
        return None
    source, target, weights = layer.source, layer.target, layer.weights.array()
    if source.shape[3] == 1 < layer.channels:
        return convolution(op, layer, weights.transpose(3, 1, 2, 0))
    flat = weights.reshape(-1, layer.channels).T
    scales = order.scales(layer, flat)
    if scales is None or order.part(flat, scales):
        return None
    vertical, horizontal = make_window(op, weights.shape[1:3], source, target)
    _, _, width, depth = source.shape
    low, high = layer.whole_bounds
    shape = DspDepthwiseS16(
        channels=layer.channels,
        copies=layer.channels // depth,
        row=vertical.dilation * width * depth,
        tap=horizontal.dilation * depth,
        weight_row=weights.shape[2] * layer.channels,
        low=low,
        high=high,
    )
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    w = nest.read("weights", layer.weights)
    tables = [
        nest.table("scales", scales.reshape(-1)),
        nest.table("shape", shape),
    ]
    with nest.loops(target.shape[:3]) as (n, oy, ox):
        (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
        first = x[n, vertical.position(oy, top), horizontal.position(ox, left), 0]
        nest.call(
            "ethosgen_dsp_depthwise_s16",
            *(tirx.address_of(y[n, oy, ox, 0]), tirx.address_of(first)),
            *(tirx.address_of(w[0, top, left, 0]), bottom - top, right - left),
            *(table.data for table in tables),
        )
    return nest.kernel(DEPTHWISE_FILES)
