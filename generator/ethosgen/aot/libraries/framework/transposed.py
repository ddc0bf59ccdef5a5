"""TRANSPOSE_CONV as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tir.structs import Struct

MOST_PARTS = 32
"""Calls in a kernel above which its code would be longer than that of the plain loops."""


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


def joined_tables(nest: Nest, constants: Mapping[str, Sequence[Array | Struct]]) -> list[Any]:
    """Declare what parts have, one after another, and return the buffers."""
    return [
        nest.table(
            name,
            np.concatenate([value for value in values if not isinstance(value, Struct)])
            if not isinstance(values[0], Struct)
            else [value for value in values if isinstance(value, Struct)],
        )
        for name, values in constants.items()
    ]


def places(constants: Sequence[Sequence[Array | Struct]]) -> Iterator[list[int]]:
    """Yield where the constants of each part start in those of all parts."""
    starts = [0] * len(constants[0])
    for part in constants:
        yield starts
        lengths = (1 if isinstance(value, Struct) else len(value) for value in part)
        starts = [start + length for start, length in zip(starts, lengths, strict=True)]


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
