"""Feature maps in memory: layouts, strides and tiles."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.isa import ActivationFormat
from ethosgen.backend.ethosu.simulator.memory import Bus
from ethosgen.backend.ethosu.simulator.operation import FeatureMap, Shape
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

BRICK = 16
"""Channels per brick of NHCWB16."""

BRICK_ALIGNMENT = 16
"""Byte alignment of tiles in NHCWB16."""

MAX_ELEMENTS = 1 << 25
"""The model's limit for one feature map; Vela stays far below."""

_Tile = tuple[slice, slice, int]


class _MapPart(NamedTuple):
    """A part of a feature map as an array view of the memory.

    `view` is (height, width, channels), or (height, width, bricks, channels of a brick).
    """

    rows: slice
    columns: slice
    channels: slice
    view: NDArray[Any]

    def of(self, array: NDArray[Any], rows: slice) -> NDArray[Any]:
        """Return the part of (height, width, depth), in the part's own shape."""
        place = array[rows, self.columns, self.channels]
        return place.reshape(place.shape[0], *self.view.shape[1:])


class Placed:
    """A feature map in memory: checked once, then read and written repeatedly.

    `whole` is a view of the memory as (height, width, depth), if the strides allow it.
    """

    __slots__ = ("_parts", "dtype", "shape", "whole")

    def __init__(
        self, bus: Bus, fm: FeatureMap, base: int, shape: Shape, write: bool = False
    ) -> None:
        """Store the region's address and the shape.

        Raises NpuFault of kind "bus" for any element outside the memories, of kind "timeout" for
        a shape beyond the model's limit.
        """
        check_size(shape)
        self.shape = shape
        self.dtype = np.dtype(fm.dtype)
        parts = tuple(_parts(bus, fm, base, shape, write))
        self.whole = _whole(parts, shape)
        self._parts = parts if self.whole is None else ()

    def read(self) -> NDArray[Any]:
        """Return (height, width, depth) in the feature map's dtype; may be a view of the memory."""
        if self.whole is not None:
            return self.whole
        result = np.empty(self.shape, self.dtype)
        self.read_rows(result, 0)
        return result

    def read_rows(self, target: NDArray[Any], top: int) -> None:
        """Fill (rows, width, depth) of any dtype with the rows from `top` on."""
        if self.whole is not None:
            target[...] = self.whole[top : top + target.shape[0]]
            return
        for part, source, rows in self._rows(top, target.shape[0]):
            part.of(target, rows)[...] = source

    def write(self, data: NDArray[Any]) -> None:
        """Store (height, width, depth) elements, which must fit the feature map's dtype."""
        self.write_rows(data, 0)

    def write_rows(self, data: NDArray[Any], top: int) -> None:
        """Store (rows, width, depth) from row `top` on."""
        if self.whole is not None:
            self.whole[top : top + data.shape[0]] = data
            return
        for part, target, rows in self._rows(top, data.shape[0]):
            target[...] = part.of(data, rows)

    def _rows(self, top: int, count: int) -> Iterator[tuple[_MapPart, NDArray[Any], slice]]:
        """Yield each part, its view of rows top to top + count, and its place among them."""
        for part in self._parts:
            first = max(top, part.rows.start)
            last = min(top + count, part.rows.stop)
            if first < last:
                view = part.view[first - part.rows.start : last - part.rows.start]
                yield part, view, slice(first - top, last - top)

    def touches(self, others: Sequence[NDArray[Any]]) -> bool:
        """Return whether it may overlap some of the views in memory."""
        return any(np.may_share_memory(mine, theirs) for mine in self.views() for theirs in others)

    def views(self) -> list[NDArray[Any]]:
        """Return its parts as views of the memory."""
        return [part.view for part in self._parts] if self.whole is None else [self.whole]


def read(bus: Bus, fm: FeatureMap, base: int, shape: Shape) -> NDArray[Any]:
    """Return a feature map as (height, width, depth) in its own dtype; may be a view of the memory.

    `base` is the region's address. Faults are those of `Placed`.
    """
    return Placed(bus, fm, base, shape).read()


def span(fm: FeatureMap, shape: Shape) -> tuple[int, int]:
    """Return the first byte of a feature map in its region, and the byte after its last."""
    item = np.dtype(fm.dtype).itemsize
    stride_y, stride_x, stride_c = fm.strides
    if fm.layout is ActivationFormat.NHWC:
        column, deep = stride_x, shape[2] * item
    else:
        bricks, rest = divmod(shape[2] - 1, BRICK)
        column, deep = BRICK * item, bricks * stride_c + (rest + 1) * item
    starts, ends = [], []
    for rows, columns, address in _tiles(fm, shape):
        height, width = rows.stop - rows.start, columns.stop - columns.start
        starts.append(address)
        ends.append(address + (height - 1) * stride_y + (width - 1) * column + deep)
    return min(starts, default=0), max(ends, default=0)


def check_write(bus: Bus, fm: FeatureMap, base: int, shape: Shape) -> None:
    """Raise the NpuFault that writing such a feature map would raise."""
    Placed(bus, fm, base, shape, write=True)


def check_size(shape: tuple[int, ...]) -> None:
    """Raise NpuFault of kind "timeout" for more elements than the model accepts."""
    elements = 1
    for extent in shape:
        elements *= extent
    if elements > MAX_ELEMENTS:
        raise NpuFault(
            "timeout", f"a feature map of {'x'.join(map(str, shape))} is too large for the model"
        )


def _tiles(fm: FeatureMap, shape: tuple[int, ...]) -> Iterator[_Tile]:
    """Yield the rows, the columns and the relative address of each used tile."""
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


def _parts(bus: Bus, fm: FeatureMap, base: int, shape: Shape, write: bool) -> Iterator[_MapPart]:
    for rows, columns, address in _tiles(fm, shape):
        extent = (rows.stop - rows.start, columns.stop - columns.start, shape[2])
        for channels, view in _views(bus, fm, base + address, extent, write):
            yield _MapPart(rows, columns, channels, view)


def _whole(parts: tuple[_MapPart, ...], shape: Shape) -> NDArray[Any] | None:
    """Return a view of the only part in the feature map's shape, None if it needs a copy."""
    if len(parts) != 1:
        return None
    view = parts[0].view
    if view.ndim == 3:
        return view
    is_row = view.strides[2] == BRICK * view.itemsize
    return view.reshape(shape) if view.shape[2] == 1 or is_row else None


def _views(
    bus: Bus, fm: FeatureMap, address: int, shape: tuple[int, ...], write: bool
) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Yield a tile as views of the memory, each with its channels.

    An array is (height, width, channels), or (height, width, bricks, channels of a brick).
    """
    dtype = np.dtype(fm.dtype)
    height, width, depth = shape
    stride_y, stride_x, stride_c = fm.strides
    alignment = dtype.itemsize if fm.layout is ActivationFormat.NHWC else BRICK_ALIGNMENT
    if address % alignment:
        reason = f"a feature map at 0x{address:x} is not aligned to {counted(alignment, 'byte')}"
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
