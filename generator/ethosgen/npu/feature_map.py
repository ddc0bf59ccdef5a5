"""Feature maps in memory: layouts, strides and tiles."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethosgen.errors import NpuFault
from ethosgen.npu.isa import ActivationFormat
from ethosgen.npu.memory import Bus
from ethosgen.npu.operation import FeatureMap, Shape

BRICK = 16
"""Channels of a brick of NHCWB16."""

BRICK_ALIGNMENT = 16
"""What tiles in NHCWB16 must be aligned to, in bytes."""

MAX_ELEMENTS = 1 << 25
"""The model's limit for one feature map; what Vela emits stays far below."""

_Tile = tuple[slice, slice, int]


def read(bus: Bus, fm: FeatureMap, base: int, shape: Shape) -> NDArray[Any]:
    """Return a feature map as (height, width, depth) in its own dtype; it may lie on the memory.

    `base` is the region's address. Raises NpuFault of kind "bus" for any element outside the
    memories, of kind "timeout" for a shape beyond the model's limit.
    """
    check_size(shape)
    tiles = list(_tiles(fm, shape))
    if len(tiles) == 1:
        views = list(_views(bus, fm, base + tiles[0][2], shape, write=False))
        if len(views) == 1:
            return views[0][1].reshape(shape)
    result = np.empty(shape, fm.dtype)
    for rows, columns, address in tiles:
        part = result[rows, columns]
        for channels, view in _views(bus, fm, base + address, part.shape, write=False):
            _shaped(part, channels, view)[...] = view
    return result


def write(bus: Bus, fm: FeatureMap, base: int, data: NDArray[Any]) -> None:
    """Store (height, width, depth) elements, which must fit the feature map's dtype.

    Raises NpuFault of kind "bus" before anything is written.
    """
    pending = []
    for rows, columns, address in _tiles(fm, data.shape):
        part = data[rows, columns]
        for channels, view in _views(bus, fm, base + address, part.shape, write=True):
            pending.append((view, _shaped(part, channels, view)))
    for view, values in pending:
        view[...] = values


def check_write(bus: Bus, fm: FeatureMap, base: int, shape: Shape) -> None:
    """Raise the NpuFault that writing such a feature map would raise, before any work is done."""
    check_size(shape)
    for rows, columns, address in _tiles(fm, shape):
        part = (rows.stop - rows.start, columns.stop - columns.start, shape[2])
        for _ in _views(bus, fm, base + address, part, write=True):
            pass


def check_size(shape: tuple[int, ...]) -> None:
    """Raise NpuFault of kind "timeout" for more elements than the model takes on."""
    elements = 1
    for extent in shape:
        elements *= extent
    if elements > MAX_ELEMENTS:
        raise NpuFault(
            "timeout", f"a feature map of {'x'.join(map(str, shape))} is beyond the model"
        )


def _tiles(fm: FeatureMap, shape: tuple[int, ...]) -> Iterator[_Tile]:
    """Yield the rows, the columns and the relative address of each tile that is used."""
    height, width = shape[0], shape[1]
    for first, last, split, bases in (
        (0, min(fm.width0, width), fm.height0, fm.bases[0::2]),
        (fm.width0, width, fm.height1, fm.bases[1::2]),
    ):
        if first >= last:
            continue
        yield slice(0, min(split, height)), slice(first, last), bases[0]
        if height > split:
            yield slice(split, height), slice(first, last), bases[1]


def _views(
    bus: Bus, fm: FeatureMap, address: int, shape: tuple[int, ...], write: bool
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield a tile as arrays on the memory, each with the channels that it holds.

    An array is (height, width, channels), or (height, width, bricks, channels of a brick).
    """
    dtype = np.dtype(fm.dtype)
    height, width, depth = shape
    stride_y, stride_x, stride_c = fm.strides
    alignment = dtype.itemsize if fm.layout is ActivationFormat.NHWC else BRICK_ALIGNMENT
    if address % alignment:
        reason = f"a feature map at 0x{address:x} is not aligned to {alignment} bytes"
        raise NpuFault("parse", reason)
    if fm.layout is ActivationFormat.NHWC:
        strides: tuple[int, ...] = (stride_y, stride_x, dtype.itemsize)
        yield slice(0, depth), bus.window(address, (height, width, depth), strides, dtype, write)
        return
    column = BRICK * dtype.itemsize
    bricks, rest = divmod(depth, BRICK)
    strides = (stride_y, column, stride_c, dtype.itemsize)
    if bricks:
        whole = bus.window(address, (height, width, bricks, BRICK), strides, dtype, write)
        yield slice(0, bricks * BRICK), whole
    if rest:
        last = address + bricks * stride_c
        part = bus.window(last, (height, width, 1, rest), strides, dtype, write)
        yield slice(bricks * BRICK, depth), part


def _shaped(part: NDArray[Any], channels: slice, view: NDArray[Any]) -> NDArray[Any]:
    """Return those channels of (height, width, depth) as a view in the shape of a tile's view."""
    return part[:, :, channels].reshape(view.shape)
