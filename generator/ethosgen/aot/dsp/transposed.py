"""TRANSPOSE_CONV of int8 as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from tvm import tirx

from ethosgen.aot.dsp import cost
from ethosgen.aot.dsp.matrix import (
    PATCH,
    ROOM,
    matrix_constants,
    whole_steps,
    window_function,
    window_numbers,
)
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.loops.window import make_transposed_window
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed import packed
from ethosgen.aot.packed.order import Array, packable_layer
from ethosgen.aot.packed.transposed import MOST_PARTS, Phase, phase_weights, phases, widened
from ethosgen.values.network import Operator, Tensor

CALL = 120
"""Instructions of a call outside its loops."""


@dataclass(frozen=True)
class Part:
    """A convolution of the input, and the outputs that it computes."""

    vertical: Phase
    horizontal: Phase

    def cycles(self, depth: int, channels: int) -> float:
        """Return the estimated instructions."""
        down, right = self.vertical.axis, self.horizontal.axis
        pixels, taps = down.target * right.target, (down.taps, right.taps)
        return CALL + cost.windows(pixels, taps, depth, channels * self.horizontal.merged)


def _cheapest_parts(op: Operator, tensors: Sequence[Tensor]) -> tuple[tuple[Part, ...], float]:
    """Return the parts with the fewest instructions, and these for each batch; () if too many."""
    _, weights, source = (tensors[i] for i in op.inputs[:3])
    target = tensors[op.outputs[0]]
    taps = weights.shape[1], weights.shape[2]
    vertical, horizontal = make_transposed_window(op, taps, source, target)
    whole = horizontal.source % horizontal.stride == 0
    best: tuple[tuple[Part, ...], float] = (), 0.0
    for merged in sorted({1, horizontal.stride} if whole else {1}):
        pairs = product(phases(vertical), phases(horizontal, merged))
        parts = tuple(Part(*pair) for pair in pairs)
        cycles = sum(part.cycles(source.shape[3], target.shape[3]) for part in parts)
        if len(parts) <= MOST_PARTS and (not best[0] or cycles < best[1]):
            best = parts, cycles
    return best


def estimate(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimated cycles for each output."""
    target = tensors[op.outputs[0]]
    outputs = max(target.elements // max(target.shape[0], 1), 1)
    return _cheapest_parts(op, tensors)[1] / outputs


@packed("TRANSPOSE_CONV", cycles=estimate)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart."""
    layer = packable_layer(op, tensors)
    parts = () if layer is None else _cheapest_parts(op, tensors)[0]
    if layer is None or not parts:
        return None
    made = [_constants(layer, part) for part in parts]
    constants = [one for one in made if one is not None]
    if len(constants) < len(parts):
        return None
    depth = layer.source.shape[3]
    most = max(part.vertical.axis.taps * part.horizontal.axis.taps for part in parts)
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    tables = [
        nest.table(name, np.concatenate(values))
        for name, values in zip(
            ("weights", "scales", "shape", "window"), zip(*constants, strict=True), strict=True
        )
    ]
    room = nest.room("room", (ROOM + PATCH) * whole_steps(most * depth))
    function, files = window_function(layer.channels * parts[0].horizontal.merged)
    with nest.loop("n", layer.target.shape[0]) as n:
        at = [0] * len(tables)
        for part, values in zip(parts, constants, strict=True):
            nest.call(
                function,
                tirx.address_of(y[n, part.vertical.first, part.horizontal.first, 0]),
                *(tirx.address_of(x[n, 0, 0, 0]), room.data),
                *(tirx.address_of(t[i]) for t, i in zip(tables, at, strict=True)),
            )
            at = [place + len(value) for place, value in zip(at, values, strict=True)]
    return nest.kernel(files)


def _constants(layer: Layer, part: Part) -> tuple[Array, ...] | None:
    """Return packed weights, scales, and the structs of a part, None if it has no form."""
    down, right = part.vertical, part.horizontal
    _, _, width, channels = layer.target.shape
    weights = np.concatenate([phase_weights(layer, down.taps[0], taps) for taps in right.taps])
    wide = widened(layer, right.merged)
    made = matrix_constants(wide, weights.reshape(len(weights), -1), stride=right.stride * channels)
    if made is None:
        return None
    row_step = down.stride * width * channels
    window = window_numbers(layer, layer.source.shape[3], down.axis, right.axis, row_step)
    return *made, window
