"""TRANSPOSE_CONV as ordinary convolutions.

With a stride of s, every s-th output along an axis sums products of every s-th tap. These outputs
are a convolution of the input with a stride of 1 by some of the taps; they are written apart.
Adjacent outputs along the width are adjacent in memory, so s of them can also be the channels of
one convolution. A tap that one of them lacks gets the weight 0.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
from tvm import tirx

from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_transposed_window
from ethosgen.aot.packed import order, packed
from ethosgen.aot.packed.matrix import CONVOLUTION, MATRIX, convolution_function, strip_constants
from ethosgen.aot.packed.order import Array
from ethosgen.aot.packed.strips import Strips, cheapest_strips
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor

MOST_PARTS = 32
"""Calls in a kernel above which its code would be longer than that of the plain loops."""
CALL = 60
"""Instructions of a call outside its loops."""


@dataclass(frozen=True)
class Phase:
    """Outputs along one axis that are a convolution: each `stride`-th, starting at `first`.

    `merged` of them, adjacent ones, are computed together. `taps` has a row for each of these: the
    numbers of the kernel's taps in the order of the inputs, negative where there is none.
    """

    first: int
    stride: int
    axis: Axis
    taps: tuple[tuple[int, ...], ...]

    @property
    def merged(self) -> int:
        """The adjacent outputs that are computed together."""
        return len(self.taps)


def phases(axis: Axis, merged: int = 1) -> Iterator[Phase]:
    """Yield the phases of a transposed axis, in which `merged` adjacent outputs are one."""
    for first in range(0, axis.stride, merged):
        count = -(-(axis.source - first) // axis.stride)
        if count > 0:
            whole = _phase(axis, first, count, merged)
            yield from _at_borders(axis, whole) if merged == 1 else (whole,)


def _at_borders(axis: Axis, whole: Phase) -> tuple[Phase, ...]:
    """Return a phase for each output of one, if together they have no more taps.

    That is so if the window is longer than the input: each output has only some of the taps.
    """
    single = tuple(
        _phase(axis, whole.first + place * axis.stride, 1) for place in range(whole.axis.target)
    )
    is_less = sum(one.axis.taps for one in single) <= whole.axis.taps
    return single if is_less else (whole,)


def _phase(axis: Axis, first: int, count: int, merged: int = 1) -> Phase:
    """Return the phase of `count` outputs, or groups of `merged` outputs, `stride` apart.

    Tap t of input i is added to output i * stride + t - padding. So it is the tap
    `output + padding - i * stride` that an output takes from input i.
    """
    reach = [output + axis.padding for output in range(first, first + merged)]
    last = reach[-1] // axis.stride
    start = -((axis.taps - 1 - reach[0]) // axis.stride)
    if count == 1:
        start, last = max(start, 0), min(last, axis.target - 1)
    if start > last:  # no input reaches these outputs: one tap, whose weight is 0
        start = last = 0
    taps = tuple(
        tuple(_tap(r - i * axis.stride, axis.taps) for i in range(start, last + 1)) for r in reach
    )
    window = Axis(last - start + 1, 1, 1, -start, axis.target, count)
    return Phase(first, axis.stride, window, taps)


def _tap(number: int, taps: int) -> int:
    return number if 0 <= number < taps else -1


@dataclass(frozen=True)
class Part:
    """An ordinary convolution of the input, and the outputs that it computes."""

    vertical: Phase
    horizontal: Phase
    strips: Strips


@cache
def _parts(
    vertical: Axis, horizontal: Axis, depth: int, channels: int, merged: int
) -> tuple[Part, ...]:
    pairs = product(phases(vertical), phases(horizontal, merged))
    return tuple(
        Part(
            down,
            right,
            cheapest_strips(down.axis, right.axis, depth, channels * merged, is_adjacent=False),
        )
        for down, right in pairs
    )


def _cycles(parts: Sequence[Part]) -> float:
    return sum(CALL + part.strips.cycles for part in parts)


def cheapest_parts(
    vertical: Axis, horizontal: Axis, depth: int, channels: int
) -> tuple[Part, ...] | None:
    """Return the parts with the fewest instructions, None if all choices have too many parts."""
    merged = {1, horizontal.stride} if horizontal.source % horizontal.stride == 0 else {1}
    choices = [_parts(vertical, horizontal, depth, channels, count) for count in sorted(merged)]
    few = [parts for parts in choices if len(parts) <= MOST_PARTS]
    return min(few, key=_cycles, default=None)


def _parts_of(op: Operator, tensors: Sequence[Tensor]) -> tuple[Part, ...] | None:
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
    layer = order.packable_layer(op, tensors)
    parts = None if layer is None else _parts_of(op, tensors)
    if layer is None or not parts:
        return None
    source, target = layer.source, layer.target
    constants = [_constants(layer, part) for part in parts]
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    w, s, shape = (
        nest.table(name, np.concatenate(values))
        for name, values in zip(
            ("weights", "scales", "shape"), zip(*constants, strict=True), strict=True
        )
    )
    room = max((one.strips.bytes for one in parts if not one.strips.is_in_place), default=0)
    strip = (nest.room("strip", room).data,) if room else ()
    with nest.loop("n", target.shape[0]) as n:
        at = [0, 0, 0]
        for part, tables in zip(parts, constants, strict=True):
            first = part.vertical.first, part.horizontal.first
            nest.call(
                convolution_function(layer, part.strips),
                *(tirx.address_of(y[n, *first, 0]), tirx.address_of(x[n, 0, 0, 0])),
                *(() if part.strips.is_in_place else strip),
                *(tirx.address_of(b[i]) for b, i in zip((w, s, shape), at, strict=True)),
            )
            at = [place + len(table) for place, table in zip(at, tables, strict=True)]
    return nest.kernel(MATRIX | CONVOLUTION)


def _constants(layer: Layer, part: Part) -> tuple[Array, ...]:
    """Return packed weights, scales, and struct ethosgen_convolution of a part."""
    down, right = part.vertical, part.horizontal
    _, _, width, channels = layer.target.shape
    steps = down.stride * width * channels, right.stride * channels
    weights = np.concatenate([phase_weights(layer, down.taps[0], taps) for taps in right.taps])
    return strip_constants(widened(layer, right.merged), weights, part.strips, steps)


def phase_weights(layer: Layer, rows: Sequence[int], columns: Sequence[int]) -> Array:
    """Return the weights of some taps, 0 for negative numbers of taps."""
    weights: Array = layer.weights.array()[:, np.maximum(rows, 0)][:, :, np.maximum(columns, 0)]
    is_there = np.logical_and.outer(np.array(rows) >= 0, np.array(columns) >= 0)
    return np.where(is_there[:, :, np.newaxis], weights, weights.dtype.type(0))


def widened(layer: Layer, merged: int) -> Layer:
    """Return a layer whose channels are those of several outputs."""
    if merged == 1:
        return layer
    channels, biases, multipliers = layer.channels * merged, layer.biases, layer.multipliers
    if biases is not None and biases.data is not None:
        biases = replace(biases, shape=(channels,), data=biases.data * merged)
    target = replace(layer.target, shape=(*layer.target.shape[:3], channels))
    if len(multipliers) > 1:
        multipliers *= merged
    return replace(layer, target=target, biases=biases, multipliers=multipliers)
