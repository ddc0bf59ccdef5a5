"""TRANSPOSE_CONV of int8 as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import cost
from ethosgen.aot.libraries.dsp.matrix import for_windows, matrix_constants
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import packable_layer
from ethosgen.aot.libraries.framework.transposed import cheapest_windows, windows_of_parts
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    return cheapest_windows(op, tensors, cost.windows)[1]


@packed("TRANSPOSE_CONV", cycles=estimate)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart."""
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_windows(op, tensors, cost.windows)[0]
    if layer is None or not parts:
        return None
    function = for_windows(parts[0].channels, max(part.products for part in parts))
    return windows_of_parts(layer, parts, matrix_constants, function)
