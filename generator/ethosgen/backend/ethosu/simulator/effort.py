"""Estimate pointless work, to bound the run time of any stream.

A few words can request any amount of work: strides of 0 make large feature maps out of a few bytes,
and an operation can be started repeatedly. A valid network can be of any size, so the limit is not
on work but on pointless work: operations whose elements overlap in memory, and repetitions of the
preceding operations. The length of the stream and the memories that it can access bound the rest;
walk.py bounds the loops that U85's branches make.

The rates are nanoseconds on one core of a 2021 server; they bound the times of real and mutated
streams there.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch

import numpy as np

from ethosgen.backend.ethosu.isa import ActivationFormat
from ethosgen.backend.ethosu.simulator.operation import (
    Access,
    Convolution,
    CopyAccess,
    Dma,
    Elementwise,
    FeatureMap,
    IssuedOperation,
    MapAccess,
    Operation,
    Pool,
    Shape,
    Windowed,
)
from ethosgen.values.multiples import pieces

_STEP_NS = 120_000
_PRODUCT_NS = 0.1
_DEPTHWISE_PRODUCT_NS = 1.5
GATHERED_NS = 1.5
"""For each element that a window gathers before a matrix product, or that is pooled."""
READ_NS = 3.0
RESULT_NS = 60.0
"""For each element of the OFM: scaling, activation, clipping."""
_WEIGHT_NS = 300.0
"""For decoding a weight at its first use; later uses of the decoded weight are not assumed."""
BYTE_NS = 0.5


_BRICK = 16
_MOST_TIMES = 4
"""Plausible consecutive repetitions of an operation; Vela repeats one for no-op layers."""


def futile(steps: Iterable[IssuedOperation]) -> Iterator[float]:
    """Yield, for each step, the seconds of pointless work up to its end."""
    total = 0.0
    before: Operation | None = None
    times = 0
    for step in steps:
        operation = step.operation
        times = times + 1 if operation == before else 1
        if times > _MOST_TIMES or not _is_plausible(operation):
            total += seconds(operation)
        before = operation
        yield total


def _is_plausible(operation: Operation) -> bool:
    """Return whether no elements overlap in memory, so that the memory bounds an operation."""
    return all(_is_apart(access) for access in operation.accesses())


def _is_apart(access: Access) -> bool:
    match access:
        case CopyAccess() if access.channel.writes:
            return _are_apart(tuple(zip(access.shape, access.strides, strict=True)), 1)
        case MapAccess() if access.name != "ifm2":  # which may be broadcast by its strides
            return _has_own_places(access.fm, access.shape)
    return True


def _has_own_places(fm: FeatureMap, shape: Shape) -> bool:
    height, width, depth = shape
    size = np.dtype(fm.dtype).itemsize
    stride_y, stride_x, stride_c = fm.strides
    splits = (fm.height0, fm.height1) if width > fm.width0 else (fm.height0,)
    rows = (max(_largest(height, split) for split in splits), stride_y)
    across = _largest(width, fm.width0)
    if fm.layout is ActivationFormat.NHWC:
        return _are_apart((rows, (across, stride_x), (depth, size)), size)
    columns = (across, _BRICK * size)
    bricks = (pieces(depth, _BRICK), stride_c)
    return _are_apart((rows, columns, bricks, (min(depth, _BRICK), size)), size)


def _largest(extent: int, split: int) -> int:
    """Return the larger of the two tiles that a split creates."""
    return max(min(extent, split), extent - split)


def _are_apart(extents: Sequence[tuple[int, int]], size: int) -> bool:
    """Return whether addresses of (count, stride) steps are distinct; sufficient, not necessary."""
    reach = size
    for count, stride in sorted((e for e in extents if e[0] > 1), key=lambda e: abs(e[1])):
        if abs(stride) < reach:
            return False
        reach += (count - 1) * abs(stride)
    return True


def seconds(operation: Operation) -> float:
    """Estimate the simulator's time for an operation; a gross overestimate is acceptable."""
    return (_STEP_NS + nanoseconds(operation)) / 1e9


@singledispatch
def nanoseconds(operation: Operation) -> float:
    raise NotImplementedError(type(operation).__name__)


@nanoseconds.register
def _(operation: Dma) -> float:
    return BYTE_NS * operation.length * max(1, operation.sizes[0]) * max(1, operation.sizes[1])


@nanoseconds.register
def _(operation: Elementwise) -> float:
    return RESULT_NS * math.prod(operation.ofm.shape)


@nanoseconds.register
def _(operation: Convolution | Pool) -> float:
    results = RESULT_NS * math.prod(operation.ofm.shape)
    height, width, depth = operation.ofm.shape
    taps = math.prod(operation.kernel.size)
    gathered = height * width * taps * operation.ifm_depth
    total = results + READ_NS * padded_elements(operation)
    if not isinstance(operation, Convolution):
        return total + GATHERED_NS * gathered
    if operation.depthwise:
        return total + _DEPTHWISE_PRODUCT_NS * gathered + _WEIGHT_NS * taps * depth
    weights = _WEIGHT_NS * taps * operation.ifm_depth * depth
    return total + GATHERED_NS * gathered + _PRODUCT_NS * gathered * depth + weights


def padded_elements(operation: Windowed) -> int:
    """Return the number of elements of the padded IFM."""
    padding = operation.padding
    height, width = operation.upscaled_size
    rows = max(0, padding.top + height + padding.bottom)
    return rows * max(0, padding.left + width + padding.right) * operation.ifm_depth
