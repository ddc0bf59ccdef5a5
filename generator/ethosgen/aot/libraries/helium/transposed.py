"""TRANSPOSE_CONV as ordinary convolutions.

With a stride of s, every s-th output along an axis sums products of every s-th tap. These outputs
are a convolution of the input with a stride of 1 by some of the taps; they are written apart.
Adjacent outputs along the width are adjacent in memory, so s of them can also be the channels of
one convolution. A tap that one of them lacks gets the weight 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.framework.transposed import (
    MOST_PARTS,
    Phase,
    joined_tables,
    phase_weights,
    phases,
    places,
    widened,
)
from ethosgen.aot.libraries.helium.matrix import (
    CONVOLUTION,
    MATRIX,
    convolution_function,
    strip_constants,
)
from ethosgen.aot.libraries.helium.shapes import HeliumConvolution
from ethosgen.aot.libraries.helium.strips import Strips, cheapest_strips
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_transposed_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

CALL = 60
"""Instructions of a call outside its loops."""


@dataclass(frozen=True)
class HeliumPart:
    """An ordinary convolution of the input, and the outputs that it computes."""

    vertical: Phase
    horizontal: Phase
    strips: Strips


@cache
def _parts(
    vertical: Axis, horizontal: Axis, depth: int, channels: int, merged: int
) -> tuple[HeliumPart, ...]:
    pairs = product(phases(vertical), phases(horizontal, merged))
    return tuple(
        HeliumPart(
            down,
            right,
            cheapest_strips(down.axis, right.axis, depth, channels * merged, is_adjacent=False),
        )
        for down, right in pairs
    )


def _cycles(parts: Sequence[HeliumPart]) -> float:
    return sum(CALL + part.strips.cycles for part in parts)


def cheapest_parts(
    vertical: Axis, horizontal: Axis, depth: int, channels: int
) -> tuple[HeliumPart, ...] | None:
    """Return the parts with the fewest instructions, None if all choices have too many parts."""
    merged = {1, horizontal.stride} if horizontal.source % horizontal.stride == 0 else {1}
    choices = [_parts(vertical, horizontal, depth, channels, count) for count in sorted(merged)]
    few = [parts for parts in choices if len(parts) <= MOST_PARTS]
    return min(few, key=_cycles, default=None)


def _parts_of(op: Operator, tensors: Sequence[Tensor]) -> tuple[HeliumPart, ...] | None:
    _, weights, source = (tensors[i] for i in op.inputs[:3])
    target = tensors[op.outputs[0]]
    taps = weights.shape[1], weights.shape[2]
    window = make_transposed_window(op, taps, source, target)
    return cheapest_parts(*window, source.shape[3], target.shape[3])


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    target = tensors[op.outputs[0]]
    outputs = max(target.elements // max(target.shape[0], 1), 1)
    return _cycles(_parts_of(op, tensors) or ()) / outputs


@packed("TRANSPOSE_CONV", cycles=estimate, for_helium=True)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart."""
    layer = packable_layer(op, tensors)
    parts = None if layer is None else _parts_of(op, tensors)
    if layer is None or not parts:
        return None
    source, target = layer.source, layer.target
    constants = [_constants(layer, part) for part in parts]
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    names = ("weights", "scales", "shape")
    tables = joined_tables(nest, dict(zip(names, zip(*constants, strict=True), strict=True)))
    room = max((one.strips.bytes for one in parts if not one.strips.is_in_place), default=0)
    strip = (nest.room("strip", room).data,) if room else ()
    with nest.loop("n", target.shape[0]) as n:
        for part, at in zip(parts, places(constants), strict=True):
            first = part.vertical.first, part.horizontal.first
            nest.call(
                convolution_function(layer, part.strips),
                *(tirx.address_of(y[n, *first, 0]), tirx.address_of(x[n, 0, 0, 0])),
                *(() if part.strips.is_in_place else strip),
                *(tirx.address_of(b[i]) for b, i in zip(tables, at, strict=True)),
            )
    return nest.kernel(MATRIX | CONVOLUTION)


def _constants(layer: Layer, part: HeliumPart) -> tuple[Array, Array, HeliumConvolution]:
    """Return packed weights, scales, and the struct of a part."""
    down, right = part.vertical, part.horizontal
    _, _, width, channels = layer.target.shape
    steps = down.stride * width * channels, right.stride * channels
    weights = np.concatenate([phase_weights(layer, down.taps[0], taps) for taps in right.taps])
    return strip_constants(widened(layer, right.merged), weights, part.strips, steps)
