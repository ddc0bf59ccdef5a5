"""TRANSPOSE_CONV of int8 as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from tvm import tirx

from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.loops.window import make_transposed_window
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed.order import Array, packable_layer
from ethosgen.aot.packed.transposed import MOST_PARTS, Phase, phase_weights, phases, widened
from ethosgen.aot.thumb import cost, matrix
from ethosgen.aot.thumb.matrix import SINGLE, Form
from ethosgen.values.network import Operator, Tensor

CALL = 120
"""Instructions of a call outside its loops."""
Part = tuple[Phase, Phase]
"""A convolution of the input: its phases down and across, which also say where its outputs are."""
_NAMES = ("weights", "scales", "shape", "window")


def _cheapest_parts(op: Operator, tensors: Sequence[Tensor]) -> tuple[tuple[Part, ...], float]:
    """Return the parts with the fewest instructions, and these for each image; () if too many."""
    _, weights, source = (tensors[i] for i in op.inputs[:3])
    target = tensors[op.outputs[0]]
    taps = weights.shape[1], weights.shape[2]
    vertical, horizontal = make_transposed_window(op, taps, source, target)
    whole = horizontal.source % horizontal.stride == 0
    best: tuple[tuple[Part, ...], float] = (), 0.0
    for merged in sorted({1, horizontal.stride} if whole else {1}):
        parts = tuple(product(phases(vertical), phases(horizontal, merged)))
        cycles = sum(_part_cycles(part, source.shape[3], target.shape[3]) for part in parts)
        if len(parts) <= MOST_PARTS and (not best[0] or cycles < best[1]):
            best = parts, cycles
    return best


def _part_cycles(part: Part, depth: int, channels: int) -> float:
    down, across = part[0].axis, part[1].axis
    pixels, taps = down.target * across.target, (down.taps, across.taps)
    return CALL + cost.windows(pixels, taps, depth, channels * part[1].merged)


def transpose_conv(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart.

    None for a single channel in several parts on Armv6-M, where copying its windows costs more
    than it saves.
    """
    layer = packable_layer(op, tensors)
    parts = () if layer is None else _cheapest_parts(op, tensors)[0]
    if layer is None or not parts:
        return None
    if layer.channels == 1 and len(parts) == 1 and parts[0][1].merged == 1:
        return _single(layer, parts[0])
    if layer.channels == 1 and form.is_raised:
        return None
    made = [_constants(layer, part, form) for part in parts]
    constants = [one for one in made if one is not None]
    if len(constants) < len(parts):
        return None
    most = max(down.axis.taps * across.axis.taps for down, across in parts)
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    columns = zip(_NAMES, zip(*constants, strict=True), strict=True)
    tables = [nest.table(name, np.concatenate(values)) for name, values in columns]
    room = nest.room("room", matrix.room_bytes(most * layer.source.shape[3], form))
    with nest.loop("n", layer.target.shape[0]) as n:
        at = [0] * len(tables)
        for (down, across), values in zip(parts, constants, strict=True):
            nest.call(
                "ethosgen_thumb_convolution_s8",
                tirx.address_of(y[n, down.first, across.first, 0]),
                *(tirx.address_of(x[n, 0, 0, 0]), room.data),
                *(tirx.address_of(t[i]) for t, i in zip(tables, at, strict=True)),
            )
            at = [place + len(value) for place, value in zip(at, values, strict=True)]
    return nest.kernel(form.convolution_sources)


def _single(layer: Layer, part: Part) -> Kernel | None:
    """Convolve the input to one channel in one call for each image, without copies."""
    made = _constants(layer, part, SINGLE)
    if made is None:
        return None
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    tables = [nest.table(*one) for one in zip(_NAMES, made, strict=True)]
    with nest.loop("n", layer.target.shape[0]) as n:
        nest.call(
            SINGLE.function,
            tirx.address_of(y[n, part[0].first, part[1].first, 0]),
            tirx.address_of(x[n, 0, 0, 0]),
            *(table.data for table in tables),
        )
    return nest.kernel(frozenset({SINGLE.source}))


def _constants(layer: Layer, part: Part, form: Form) -> tuple[Array, ...] | None:
    """Return packed weights, scales, and the structs of a part, None if it has no form."""
    down, across = part
    _, _, width, channels = layer.target.shape
    weights = np.concatenate([phase_weights(layer, down.taps[0], taps) for taps in across.taps])
    wide = widened(layer, across.merged)
    flat = weights.reshape(len(weights), -1)
    made = matrix.constants(wide, flat, form, stride=across.stride * channels)
    if made is None:
        return None
    row_step = down.stride * width * channels
    depth = layer.source.shape[3]
    return *made, matrix.window(layer, depth, down.axis, across.axis, row_step)
