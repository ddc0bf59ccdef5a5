"""TRANSPOSE_CONV of int8 as ordinary convolutions, from strips."""

from collections.abc import Sequence
from functools import cache

from ethosgen.aot.libraries.framework.calls import NAMES
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import packable_layer
from ethosgen.aot.libraries.framework.transposed import (
    ConvolutionPart,
    PartCall,
    cheapest_parts,
    parts_kernel,
    transposed_sizes,
    widened,
)
from ethosgen.aot.libraries.helium.matrix import convolution_function, strip_constants
from ethosgen.aot.libraries.helium.strips import Strips, cheapest_strips
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

CALL = 60
"""Instructions of a call outside its loops."""


@cache
def strips_of(part: ConvolutionPart) -> Strips:
    """Return the strips of a part."""
    axes = part.down.axis, part.across.axis
    return cheapest_strips(*axes, part.depth, part.channels, is_adjacent=False)


def part_cycles(part: ConvolutionPart) -> float:
    """Return the estimated cycles of a part."""
    return CALL + strips_of(part).cycles


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    return cheapest_parts(transposed_sizes(op, tensors), part_cycles)[1]


@packed("TRANSPOSE_CONV", cycles=estimate, for_helium=True)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write the part's outputs at their stride."""
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_parts(transposed_sizes(op, tensors), part_cycles)[0]
    if layer is None or not parts:
        return None
    calls, room = [], 0
    for part in parts:
        strips, merged = strips_of(part), widened(layer, part.across.merged)
        constants = strip_constants(merged, part.weights(layer), strips, part.steps(layer))
        function = convolution_function(strips)
        calls.append(PartCall(part, function.name, constants, bool(function.room_bytes)))
        room = max(room, function.room_bytes)
    return parts_kernel(
        layer, calls, NAMES, lambda nest: nest.room("strip", room), function.sources
    )
