"""Layers as calls of a C function: by rows, by images, by windows or by pixels.

A function gets the addresses of its outputs and its inputs, temporary memory if it needs any, and
the constants.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ethosgen.aot.libraries.framework.core import CoreWindow
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.loops.distances import rows_distance, windows_distance
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window, pool_bounds, pool_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, Table, address
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.aot.tir.structs import Struct
from ethosgen.values.network import Operator, Tensor

Constants = tuple[Array, Array, Struct]
"""Packed weights and scales, group by group, and the struct with the sizes."""
NAMES = ("weights", "scales", "shape", "window")
"""The names of a layer's constants in C."""


@dataclass(frozen=True)
class CFunction:
    """A C function, its files, and its temporary memory, if any.

    `ahead` is for a function that processes the rows of a matrix, or of a picture, from first to
    last: it writes at most this many rows from the first row that it still has to read. 0 if it
    reads all inputs of a row of outputs before it writes the first of them.
    """

    name: str
    sources: frozenset[str]
    room_bytes: int = 0
    room: str = "room"
    """The name of the memory."""
    ahead: int | None = None

    def declare_room(self, nest: Nest) -> list[Any]:
        """Declare its memory; return the pointer as its argument."""
        return [nest.room(self.room, self.room_bytes).data] if self.room_bytes else []


def named(*constants: Table) -> dict[str, Table]:
    """Return weights, scales, and the structs of a layer and its windows, by their names in C."""
    return dict(zip(NAMES, constants, strict=False))


@dataclass(frozen=True)
class Multiplication:
    """How a library multiplies rows by weights, for layers of all kinds.

    `layer` reads one, None if the library cannot compute it. `constants` packs its weights of
    (channel, products) for a number of groups. The functions, for a number of channels and
    products, are for rows that are contiguous in the input and for windows.
    """

    layer: Callable[[Operator, Sequence[Tensor]], Layer | None]
    constants: Callable[[Layer, Array, int], Constants | None]
    for_rows: Callable[[int, int], CFunction]
    for_windows: Callable[[int, int], CFunction]

    def dense(self, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
        """Multiply all rows of the input in one call."""
        layer = self.layer(op, tensors)
        if layer is None:
            return None
        weights = layer.weights.array()
        return self._rows(layer, weights.reshape(-1, weights.shape[-1]))

    def conv_2d(self, op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
        """Multiply pixels by weights if a window is one pixel, else those under each window."""
        layer = self.layer(op, tensors)
        return None if layer is None else self.convolution(op, layer, layer.weights.array())

    def convolution(self, op: Operator, layer: Layer, weights: Array) -> Kernel | None:
        """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
        axes = make_window(op, weights.shape[1:3], layer.source, layer.target)
        flat, depth = weights.reshape(len(weights), -1), weights.shape[3]
        groups = layer.source.shape[3] // depth
        if groups == 1 and is_point(*axes):
            return self._rows(layer, flat)
        constants = self.constants(layer, flat, groups)
        if constants is None:
            return None
        function = self.for_windows(layer.channels // groups, flat.shape[1])
        return windows_kernel(layer, depth, function, constants, window_of(layer, depth, *axes))

    def _rows(self, layer: Layer, weights: Array) -> Kernel | None:
        constants = self.constants(layer, weights, 1)
        if constants is None:
            return None
        return rows_kernel(layer, self.for_rows(layer.channels, weights.shape[1]), constants)


def is_point(*window: Axis) -> bool:
    """Return whether each window is one pixel, and each pixel has a window."""
    return all(axis.taps == axis.stride == 1 and axis.is_inside for axis in window)


def rows_kernel(
    layer: Layer,
    function: CFunction,
    constants: Constants,
    has_count: bool = True,
    more: Sequence[int] = (),
) -> Kernel:
    """Return one call for all rows of the input; the function may get their number, and more."""
    nest = Nest()
    x = nest.read("input", layer.source, (layer.source.elements,))
    y = nest.write("output", layer.target, (layer.target.elements,))
    tables = nest.tables(named(*constants))
    nest.call(
        function.name,
        *(address(y, 0), address(x, 0)),
        *([layer.target.elements // layer.channels] if has_count else []),
        *(*function.declare_room(nest), *tables, *more),
    )
    kernel = nest.kernel(function.sources)
    if function.ahead is None or not layer.source.elements:
        return kernel
    rows = layer.target.elements // layer.channels
    sizes = layer.source.bytes // rows, layer.target.bytes // rows
    return replace(
        kernel,
        distance=rows_distance(rows, *sizes, function.ahead),
        in_place=function.ahead == 0 and sizes[0] == sizes[1],
    )


def windows_kernel(
    layer: Layer, depth: int, function: CFunction, constants: Constants, *window: CoreWindow
) -> Kernel:
    """Return a call for each image and each group of `depth` input channels."""
    groups = layer.source.shape[3] // depth
    steps = [len(constants[0]) // groups, len(constants[1]) // groups]
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    names = named(*constants, *window).items()
    weights, scales, *structs = [nest.table(name, values) for name, values in names]
    room = function.declare_room(nest)
    with nest.loops((layer.source.shape[0], groups), "n group") as (n, group):
        nest.call(
            function.name,
            address(y, n, 0, 0, group * (layer.channels // groups)),
            *(address(x, n, 0, 0, group * depth), *room),
            *(address(weights, group * steps[0]), address(scales, group * steps[1])),
            *(struct.data for struct in structs),
        )
    kernel = nest.kernel(function.sources)
    for each in window if groups == 1 else ():
        down = each.stride_y, each.before_y
        distance = picture_distance(layer.source, layer.target, function.ahead, *down)
        kernel = replace(kernel, distance=distance)
    return kernel


def images_kernel(
    layer: Layer, function: CFunction, constants: Mapping[str, Table], down: Axis | None = None
) -> Kernel:
    """Return a call for each image; `down` is the axis of its rows, if it keeps their order."""
    nest = Nest()
    call_for_images(nest, layer, function, constants)
    kernel = nest.kernel(function.sources)
    if down is None:
        return kernel
    distance = picture_distance(
        layer.source, layer.target, function.ahead, down.stride, down.padding
    )
    return replace(kernel, distance=distance)


def picture_distance(
    source: Tensor, target: Tensor, ahead: int | None, stride: int, before: int
) -> int | None:
    """Return the distance of windows over the rows of one picture, None for several pictures."""
    if ahead is None or source.shape[0] != 1 or not source.elements:
        return None
    rows = target.shape[1]
    sizes = source.bytes // source.shape[1], target.bytes // rows
    return windows_distance(rows, *sizes, ahead, stride, before)


def call_for_images(
    nest: Nest, layer: Layer, function: CFunction, constants: Mapping[str, Table]
) -> Any:
    """Call a function for each image; return the output."""
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    tables, room = nest.tables(constants), function.declare_room(nest)
    with nest.loop("n", layer.target.shape[0]) as n:
        nest.call(function.name, address(y, n, 0, 0, 0), address(x, n, 0, 0, 0), *room, *tables)
    return y


@dataclass(frozen=True)
class Pixel:
    """An output pixel and the taps inside the input: the first one's place, and their numbers."""

    ends: tuple[Any, Any]
    """The addresses of the output, and of the first input under its window."""
    first: tuple[Any, Any]
    taps: tuple[Any, Any]


@contextmanager
def pixels(
    nest: Nest, target: Tensor, window: tuple[Axis, Axis], views: tuple[Any, Any], names: str = ""
) -> Iterator[Pixel]:
    """Open loops over the pixels of an output; `views` are input and output."""
    (vertical, horizontal), (x, y) = window, views
    with nest.loops(target.shape[:3], names) as (n, oy, ox):
        (top, bottom), (left, right) = vertical.inside(oy), horizontal.inside(ox)
        first = address(x, n, vertical.position(oy, top), horizontal.position(ox, left), 0)
        ends = address(y, n, oy, ox, 0), first
        yield Pixel(ends, (top, left), (bottom - top, right - left))


def pixels_kernel(
    layer: Layer,
    window: tuple[Axis, Axis],
    function: CFunction,
    constants: Mapping[str, Table],
    is_column: bool = False,
    names: str = "",
) -> Kernel:
    """Return a call for each output pixel of a depthwise layer, with unchanged weights.

    The function gets the number of rows and columns of taps; `is_column` exchanges them.
    """
    nest = Nest()
    views = nest.read("input", layer.source), nest.write("output", layer.target)
    weights, tables = nest.read("weights", layer.weights), nest.tables(constants)
    with pixels(nest, layer.target, window, views, names) as pixel:
        taps = pixel.taps[::-1] if is_column else pixel.taps
        nest.call(function.name, *pixel.ends, address(weights, 0, *pixel.first, 0), *taps, *tables)
    down = window[0].stride, window[0].padding
    distance = picture_distance(layer.source, layer.target, 1, *down)
    return replace(nest.kernel(function.sources), distance=distance)


class MakePool(Protocol):
    """A library's struct of a pool; `row_step` is from a row of the input to the next."""

    def __call__(self, *, row_step: int, channels: int, low: int, high: int) -> Struct:
        """Return the struct."""


def pool_kernel(
    function: str,
    make_pool: MakePool,
    files: frozenset[str],
    op: Operator,
    tensors: Sequence[Tensor],
) -> Kernel:
    """Return a kernel that calls a micro-kernel for each output pixel."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    window = pool_window(op, tensors)
    _, _, width, channels = source.shape
    low, high = pool_bounds(op, tensors)
    pool = make_pool(row_step=width * channels, channels=channels, low=low, high=high)
    nest = Nest()
    views = nest.read("input", source), nest.write("output", target)
    shape = nest.table("shape", pool)
    with pixels(nest, target, window, views) as pixel:
        nest.call(function, *pixel.ends, *pixel.taps, shape.data)
    distance = picture_distance(source, target, 1, window[0].stride, window[0].padding)
    return replace(nest.kernel(files), distance=distance)


def window_numbers(down: Axis, across: Axis) -> dict[str, int]:
    """Return the struct members for the size, dilation, stride and padding of a window."""
    return {
        "taps_y": down.taps,
        "taps_x": across.taps,
        "dilation_y": down.dilation,
        "dilation_x": across.dilation,
        "stride_y": down.stride,
        "stride_x": across.stride,
        "before_y": down.padding,
        "before_x": across.padding,
    }


def window_of(
    layer: Layer, depth: int, vertical: Axis, horizontal: Axis, row_step: int | None = None
) -> CoreWindow:
    """Return the window that covers `depth` channels of each pixel.

    A row of outputs and the next are `row_step` apart, or else adjacent.
    """
    _, height, width, channels = layer.source.shape
    return CoreWindow(
        height=height,
        width=width,
        pixel=channels,
        channels=depth,
        **window_numbers(vertical, horizontal),
        zero_point=zero_point_of(layer.source),
        rows=vertical.target,
        columns=horizontal.target,
        row_step=row_step or horizontal.target * layer.channels,
    )
