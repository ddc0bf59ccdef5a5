"""TRANSPOSE_CONV of int8 as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Sequence

from ethosgen.aot.libraries.dsp import cost
from ethosgen.aot.libraries.dsp.matrix import (
    PATCH,
    ROOM,
    matrix_constants,
    whole_steps,
    window_function,
)
from ethosgen.aot.libraries.framework.calls import Constants
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.framework.parts import cheapest_parts, most_products, parts_kernel
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    target = tensors[op.outputs[0]]
    outputs = max(target.elements // max(target.shape[0], 1), 1)
    return cheapest_parts(op, tensors, cost.windows)[1] / outputs


@packed("TRANSPOSE_CONV", cycles=estimate)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart."""
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_parts(op, tensors, cost.windows)[0]
    if layer is None or not parts:
        return None
    room = (ROOM + PATCH) * whole_steps(most_products(layer, parts))
    function, files = window_function(layer.channels * parts[0].across.merged)
    return parts_kernel(layer, parts, _constants, function, room, files)


def _constants(layer: Layer, weights: Array, stride: int) -> Constants | None:
    return matrix_constants(layer, weights, stride=stride)
