"""TRANSPOSE_CONV of int8 as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Sequence

from ethosgen.aot.libraries.framework.calls import CFunction
from ethosgen.aot.libraries.framework.order import packable_layer
from ethosgen.aot.libraries.framework.transposed import cheapest_windows, windows_of_parts
from ethosgen.aot.libraries.thumb import cost
from ethosgen.aot.libraries.thumb.matrix import SINGLE, Form
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor


def transpose_conv(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart.

    A single channel in one part needs no copies. None for one in several parts on Armv6-M, where
    copying its windows costs more than it saves.
    """
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_windows(op, tensors, cost.windows)[0]
    if layer is None or not parts:
        return None
    if len(parts) == parts[0].channels == 1:
        function = CFunction(SINGLE.function, frozenset({SINGLE.source}))
        return windows_of_parts(layer, parts, SINGLE.constants, function)
    if layer.channels == 1 and form.is_raised:
        return None
    function = form.for_windows(layer.channels, max(part.products for part in parts))
    return windows_of_parts(layer, parts, form.constants, function)
