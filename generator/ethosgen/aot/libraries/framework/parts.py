"""TRANSPOSE_CONV of int8 as calls of an ordinary convolution, one for each phase of its strides."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.framework import core
from ethosgen.aot.libraries.framework.calls import Constants, window_of
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.libraries.framework.transposed import (
    MOST_PARTS,
    Phase,
    joined_tables,
    phase_weights,
    phases,
    places,
    widened,
)
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import make_transposed_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor

CALL = 120
"""Instructions of a call outside its loops."""
NAMES = ("weights", "scales", "shape", "window")
"""The constants of a part."""
PartConstants = tuple[Array, Array, Struct, core.CoreWindow]
MakeConstants = Callable[[Layer, Array, int], Constants | None]
"""Packs a layer's weights (channel, products), for outputs of rows that are so far apart."""
WindowCycles = Callable[[int, tuple[int, int], int, int], float]
"""Estimates a convolution by its pixels, taps, depth and channels."""


@dataclass(frozen=True)
class ConvolutionPart:
    """An ordinary convolution of the input, and the outputs that it computes."""

    down: Phase
    across: Phase

    @property
    def taps(self) -> tuple[int, int]:
        """The size of its windows."""
        return self.down.axis.taps, self.across.axis.taps

    def cycles(self, windows: WindowCycles, depth: int, channels: int) -> float:
        """Return the estimated instructions."""
        pixels = self.down.axis.target * self.across.axis.target
        return CALL + windows(pixels, self.taps, depth, channels * self.across.merged)


def cheapest_parts(
    op: Operator, tensors: Sequence[Tensor], windows: WindowCycles
) -> tuple[tuple[ConvolutionPart, ...], float]:
    """Return the parts with the fewest instructions, and these for each image; () if too many."""
    _, weights, source = (tensors[i] for i in op.inputs[:3])
    target = tensors[op.outputs[0]]
    taps = weights.shape[1], weights.shape[2]
    vertical, horizontal = make_transposed_window(op, taps, source, target)
    whole = horizontal.source % horizontal.stride == 0
    best: tuple[tuple[ConvolutionPart, ...], float] = (), 0.0
    for merged in sorted({1, horizontal.stride} if whole else {1}):
        pairs = product(phases(vertical), phases(horizontal, merged))
        parts = tuple(ConvolutionPart(*pair) for pair in pairs)
        cycles = sum(part.cycles(windows, source.shape[3], target.shape[3]) for part in parts)
        if len(parts) <= MOST_PARTS and (not best[0] or cycles < best[1]):
            best = parts, cycles
    return best


def part_constants(
    layer: Layer, part: ConvolutionPart, make: MakeConstants
) -> PartConstants | None:
    """Return packed weights, scales, and the structs of a part, None if it has no form."""
    down, across = part.down, part.across
    _, _, width, channels = layer.target.shape
    weights = np.concatenate([phase_weights(layer, down.taps[0], taps) for taps in across.taps])
    flat = weights.reshape(len(weights), -1)
    made = make(widened(layer, across.merged), flat, across.stride * channels)
    if made is None:
        return None
    row_step = down.stride * width * channels
    return *made, window_of(layer, layer.source.shape[3], down.axis, across.axis, row_step)


def parts_kernel(
    layer: Layer,
    parts: Sequence[ConvolutionPart],
    make: MakeConstants,
    function: str,
    room_bytes: int,
    sources: frozenset[str],
) -> Kernel | None:
    """Return a call for each part of each image, None if a part has no form."""
    made = [part_constants(layer, part, make) for part in parts]
    constants = [one for one in made if one is not None]
    if len(constants) < len(parts):
        return None
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    tables = joined_tables(nest, dict(zip(NAMES, zip(*constants, strict=True), strict=True)))
    room = nest.room("room", room_bytes)
    with nest.loop("n", layer.target.shape[0]) as n:
        for part, at in zip(parts, places(constants), strict=True):
            nest.call(
                function,
                tirx.address_of(y[n, part.down.first, part.across.first, 0]),
                *(tirx.address_of(x[n, 0, 0, 0]), room.data),
                *(tirx.address_of(t[i]) for t, i in zip(tables, at, strict=True)),
            )
    return nest.kernel(sources)


def most_products(layer: Layer, parts: Sequence[ConvolutionPart]) -> int:
    """Return the products of an output in the part that has most."""
    return max(part.taps[0] * part.taps[1] for part in parts) * layer.source.shape[3]
