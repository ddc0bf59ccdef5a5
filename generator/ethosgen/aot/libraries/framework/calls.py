"""Layers as calls of a C function: rows that are contiguous, or windows, times packed weights."""

from collections.abc import Mapping

from tvm import tirx

from ethosgen.aot.libraries.framework import core
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, Table
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.aot.tir.structs import Struct

Constants = tuple[Array, Array, Struct]
"""Packed weights and scales, group by group, and the struct with the sizes."""


def is_contiguous(layer: Layer, weights: Array, *axes: Axis) -> bool:
    """Return whether the windows of a convolution are the pixels of the input, one after another.

    Weights are (output channel, row, column, input channel).
    """
    return weights.shape[3] == layer.source.shape[3] and all(
        axis.taps == axis.stride == 1 and axis.is_inside for axis in axes
    )


def rows_kernel(
    layer: Layer, function: str, constants: Constants, room_bytes: int, sources: frozenset[str]
) -> Kernel:
    """Return one call for all rows of the input; a function without room takes no pointer to it."""
    nest = Nest()
    x = nest.read("input", layer.source, (layer.source.elements,))
    y = nest.write("output", layer.target, (layer.target.elements,))
    weights, scales, shape = constants
    tables = [
        nest.table("weights", weights),
        nest.table("scales", scales),
        nest.table("shape", shape),
    ]
    nest.call(
        function,
        *(tirx.address_of(y[0]), tirx.address_of(x[0])),
        layer.target.elements // layer.channels,
        *([nest.room("room", room_bytes).data] if room_bytes else []),
        *(table.data for table in tables),
    )
    return nest.kernel(sources)


def windows_kernel(
    layer: Layer,
    depth: int,
    function: str,
    constants: Constants,
    window: core.CoreWindow,
    room_bytes: int,
    sources: frozenset[str],
) -> Kernel:
    """Return a call for each image and each group of `depth` input channels."""
    groups = layer.source.shape[3] // depth
    packed_weights, scales, shape = constants
    steps = len(packed_weights) // groups, len(scales) // groups
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    w, s = nest.table("weights", packed_weights), nest.table("scales", scales)
    structs = nest.table("shape", shape), nest.table("window", window)
    room = nest.room("room", room_bytes)
    with nest.loops((layer.source.shape[0], groups), "n group") as (n, group):
        nest.call(
            function,
            tirx.address_of(y[n, 0, 0, group * (layer.channels // groups)]),
            *(tirx.address_of(x[n, 0, 0, group * depth]), room.data),
            *(tirx.address_of(w[group * steps[0]]), tirx.address_of(s[group * steps[1]])),
            *(struct.data for struct in structs),
        )
    return nest.kernel(sources)


def images_kernel(
    layer: Layer,
    function: str,
    constants: Mapping[str, Table],
    room_bytes: int,
    sources: frozenset[str],
) -> Kernel:
    """Return a call for each image, with temporary memory and the constants in their order."""
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    tables = [nest.table(name, values) for name, values in constants.items()]
    room = nest.room("room", room_bytes)
    with nest.loop("n", layer.source.shape[0]) as n:
        nest.call(
            function,
            *(tirx.address_of(y[n, 0, 0, 0]), tirx.address_of(x[n, 0, 0, 0]), room.data),
            *(table.data for table in tables),
        )
    return nest.kernel(sources)


def window_of(
    layer: Layer, depth: int, vertical: Axis, horizontal: Axis, row_step: int | None = None
) -> core.CoreWindow:
    """Return the window that covers `depth` channels of each pixel.

    A row of outputs and the next are `row_step` apart, or else adjacent.
    """
    _, height, width, channels = layer.source.shape
    return core.CoreWindow(
        height=height,
        width=width,
        pixel=channels,
        channels=depth,
        taps_y=vertical.taps,
        taps_x=horizontal.taps,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        before_y=vertical.padding,
        before_x=horizontal.padding,
        zero_point=zero_point_of(layer.source),
        rows=vertical.target,
        columns=horizontal.target,
        row_step=row_step or horizontal.target * layer.channels,
    )
