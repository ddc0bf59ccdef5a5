"""DEPTHWISE_CONV_2D of int16."""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import order_s16 as order
from ethosgen.aot.libraries.dsp.cost_s16 import DEPTHWISE
from ethosgen.aot.libraries.dsp.matrix_s16 import MULTIPLICATION
from ethosgen.aot.libraries.dsp.shapes import DspDepthwiseS16
from ethosgen.aot.libraries.framework.calls import CFunction, pixels_kernel
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import layer_s16
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.values.network import Operator, Tensor

DEPTHWISE_FILES = frozenset({"ethosgen_dsp_depthwise_s16.c"})


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
