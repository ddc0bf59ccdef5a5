"""TRANSPOSE_CONV as ordinary convolutions, one for each phase of its strides.

With a stride of s, every s-th output along an axis sums products of every s-th tap. These outputs
are a convolution of the input with a stride of 1 by some of the taps; they are written with gaps.
Adjacent outputs along the width are adjacent in memory, so s of them can also be the channels of
one convolution. A tap that one of them lacks gets the weight 0.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ethosgen.aot.libraries.framework.calls import NAMES, CFunction, Constants, window_of
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_transposed_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

WINDOWS_CALL = 120
"""Instructions of a call for windows outside its loops."""
MOST_PARTS = 32
"""Calls in a kernel above which its code would be longer than that of the plain loops."""


@dataclass(frozen=True)
class Phase:
    """Outputs along one axis that are a convolution: each `stride`-th, starting at `first`.

    `merged` adjacent ones are computed together. `taps` has a row for each of these: the numbers of
    the kernel's taps in the order of the inputs, negative where there is none.
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
        count = pieces(axis.source - first, axis.stride)
        if count > 0:
            whole = _phase(axis, first, count, merged)
            yield from _at_borders(axis, whole) if merged == 1 else (whole,)


def _at_borders(axis: Axis, whole: Phase) -> tuple[Phase, ...]:
    """Return a phase for each single output of a phase, if together they have no more taps.

    This is the case if the window is longer than the input: each output has only some of the taps.
    """
    single = tuple(
        _phase(axis, whole.first + place * axis.stride, 1) for place in range(whole.axis.target)
    )
    is_less = sum(phase.axis.taps for phase in single) <= whole.axis.taps
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
class ConvolutionPart:
    """An ordinary convolution of the input, and the outputs that it computes.

    `channels` are those of adjacent outputs that are computed together.
    """

    down: Phase
    across: Phase
    depth: int
    channels: int

    @property
    def taps(self) -> tuple[int, int]:
        """The size of its windows."""
        return self.down.axis.taps, self.across.axis.taps

    @property
    def pixels(self) -> int:
        """Its windows."""
        return self.down.axis.target * self.across.axis.target

    @property
    def products(self) -> int:
        """The products of an output."""
        return self.taps[0] * self.taps[1] * self.depth

    def steps(self, layer: Layer) -> tuple[int, int]:
        """Return the elements from an output to the one below it, and to the next in its row."""
        _, _, width, channels = layer.target.shape
        return self.down.stride * width * channels, self.across.stride * channels

    def weights(self, layer: Layer) -> Array:
        """Return its weights as (output channel, row, column, input channel)."""
        rows = self.down.taps[0]
        return np.concatenate([_phase_weights(layer, rows, taps) for taps in self.across.taps])


TransposedSizes = tuple[Axis, Axis, int, int]
"""A layer's window, and the channels of its input and its output."""


def transposed_sizes(op: Operator, tensors: Sequence[Tensor]) -> TransposedSizes:
    """Return the sizes of a layer."""
    _, weights, source = (tensors[i] for i in op.inputs[:3])
    taps, target = (weights.shape[1], weights.shape[2]), tensors[op.outputs[0]]
    window = make_transposed_window(op, taps, source, target)
    return *window, source.shape[3], target.shape[3]


def parts_of(sizes: TransposedSizes, merges: bool = True) -> Iterator[tuple[ConvolutionPart, ...]]:
    """Yield the parts of a layer in each way that does not make too many.

    One way computes each output separately; the other, if it `merges`, computes adjacent ones
    together.
    """
    vertical, horizontal, depth, channels = sizes
    can_merge = merges and horizontal.source % horizontal.stride == 0
    for merged in sorted({1, horizontal.stride} if can_merge else {1}):
        pairs = product(phases(vertical), phases(horizontal, merged))
        parts = tuple(ConvolutionPart(*pair, depth, channels * merged) for pair in pairs)
        if len(parts) <= MOST_PARTS:
            yield parts


def cheapest_parts(
    sizes: TransposedSizes, cycles: Callable[[ConvolutionPart], float]
) -> tuple[tuple[ConvolutionPart, ...], float]:
    """Return the parts with the fewest cycles, and their cycles for each output; () if too many."""
    vertical, horizontal, _, channels = sizes
    outputs = max(vertical.source * horizontal.source * channels, 1)
    ways = [(parts, sum(map(cycles, parts)) / outputs) for parts in parts_of(sizes)]
    return min(ways, key=lambda way: way[1], default=((), 0.0))


@dataclass(frozen=True)
class PartCall:
    """The call of a C function for a part, which may get temporary memory, and its constants."""

    part: ConvolutionPart
    function: str
    constants: Sequence[Array | Struct]
    has_room: bool = True


def parts_kernel(
    layer: Layer,
    calls: Sequence[PartCall],
    names: Sequence[str],
    declare_room: Callable[[Nest], Any],
    sources: frozenset[str],
) -> Kernel:
    """Return a call for each part of each image; the constants of all parts have the `names`.

    Each part's follow those of the part before. `declare_room` declares the memory.
    """
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    columns = zip(*(call.constants for call in calls), strict=True)
    tables = [_joined(nest, *column) for column in zip(names, columns, strict=False)]
    room = [declare_room(nest).data] if any(call.has_room for call in calls) else []
    starts = [0] * len(tables)
    with nest.loop("n", layer.target.shape[0]) as n:
        for call in calls:
            nest.call(
                call.function,
                address(y, n, call.part.down.first, call.part.across.first, 0),
                *(address(x, n, 0, 0, 0), *(room if call.has_room else ())),
                *(address(table, start) for table, start in zip(tables, starts, strict=True)),
            )
            lengths = [1 if isinstance(table, Struct) else len(table) for table in call.constants]
            starts = [start + length for start, length in zip(starts, lengths, strict=True)]
    return nest.kernel(sources)


MakeConstants = Callable[[Layer, Array, int, int | None], Constants | None]
"""Packs weights of (channel, products) in a number of groups, for rows of outputs so far apart."""
WindowCycles = Callable[[int, tuple[int, int], int, int], float]
"""Estimates a convolution by its pixels, taps, depth and channels."""


def cheapest_windows(
    op: Operator, tensors: Sequence[Tensor], windows: WindowCycles
) -> tuple[tuple[ConvolutionPart, ...], float]:
    """Return the cheapest parts if each copies the pixels under its windows."""

    def cycles(part: ConvolutionPart) -> float:
        return WINDOWS_CALL + windows(part.pixels, part.taps, part.depth, part.channels)

    return cheapest_parts(transposed_sizes(op, tensors), cycles)


def windows_of_parts(
    layer: Layer, parts: Sequence[ConvolutionPart], make: MakeConstants, function: CFunction
) -> Kernel | None:
    """Return a kernel whose parts copy the pixels under windows, None if a part has no form."""
    calls = []
    for part in parts:
        row_step, stride = part.steps(layer)
        flat = part.weights(layer).reshape(part.channels, -1)
        constants = make(widened(layer, part.across.merged), flat, 1, stride)
        if constants is None:
            return None
        window = window_of(layer, part.depth, part.down.axis, part.across.axis, row_step)
        has_room = bool(function.room_bytes)
        calls.append(PartCall(part, function.name, (*constants, window), has_room))
    memory = function.room, function.room_bytes
    return parts_kernel(layer, calls, NAMES, lambda nest: nest.room(*memory), function.sources)


def _joined(nest: Nest, name: str, values: Sequence[Array | Struct]) -> Any:
    """Declare the constants of all parts, one after another."""
    structs = [value for value in values if isinstance(value, Struct)]
    arrays = [value for value in values if not isinstance(value, Struct)]
    return nest.table(name, structs or np.concatenate(arrays))


def _phase_weights(layer: Layer, rows: Sequence[int], columns: Sequence[int]) -> Array:
    """Return the weights of some taps, 0 for negative numbers of taps."""
    weights: Array = layer.weights.array()[:, np.maximum(rows, 0)][:, :, np.maximum(columns, 0)]
    is_there = np.logical_and.outer(np.array(rows) >= 0, np.array(columns) >= 0)
    return np.where(is_there[:, :, np.newaxis], weights, weights.dtype.type(0))


def widened(layer: Layer, merged: int) -> Layer:
    """Return a layer whose channels are several outputs' channels."""
    if merged == 1:
        return layer
    channels, biases, multipliers = layer.channels * merged, layer.biases, layer.multipliers
    if biases is not None and biases.data is not None:
        biases = replace(biases, shape=(channels,), data=biases.data * merged)
    target = replace(layer.target, shape=(*layer.target.shape[:3], channels))
    if len(multipliers) > 1:
        multipliers *= merged
    return replace(layer, target=target, biases=biases, multipliers=multipliers)
