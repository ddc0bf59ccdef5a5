"""DEPTHWISE_CONV_2D of int8."""

from collections.abc import Sequence

from ethosgen.aot.dsp import cost, order
from ethosgen.aot.dsp.matrix import convolution
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed import packed
from ethosgen.values.network import Operator, Tensor


@packed("DEPTHWISE_CONV_2D", cycles=cost.DEPTHWISE)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve a single channel."""
    layer = order.dsp_layer(op, tensors)
    if layer is None or layer.source.shape[3] != 1:
        return None
    return convolution(op, layer, layer.weights.array().transpose(3, 1, 2, 0))
