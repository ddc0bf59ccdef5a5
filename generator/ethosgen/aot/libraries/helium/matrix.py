"""Rows times weights: FULLY_CONNECTED, CONV_2D, and the depthwise convolution of one channel.

Convolutions to one or two channels have their own kernel, which reads windows in place.
"""

from collections.abc import Sequence

import numpy as np

from ethosgen.aot.cost import TwoForms
from ethosgen.aot.libraries.framework.calls import (
    CFunction,
    images_kernel,
    is_point,
    named,
    rows_kernel,
    windows_kernel,
)
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import (
    Array,
    by_group,
    channel_table,
    packable_layer,
    padded,
)
from ethosgen.aot.libraries.framework.parts import PART_ROWS, parts_kernel
from ethosgen.aot.libraries.helium import cost, order, shapes
from ethosgen.aot.libraries.helium.scales import has_common_shifts, settled_table
from ethosgen.aot.libraries.helium.shapes import Two, output_of
from ethosgen.aot.libraries.helium.strips import Strips, cheapest_strips
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.values.multiples import pieces, rounded_up
from ethosgen.values.network import Operator, Tensor

ROWS = frozenset({"ethosgen_rows.c"})
CONVOLUTION = frozenset({"ethosgen_convolution.c", "ethosgen_strips.h"})
MATRIX = frozenset({"ethosgen_matrix.c", "ethosgen_sums.h"})
PARTS = frozenset({"ethosgen_matrix_parts.c"})
ROW = frozenset({"ethosgen_row.c"})
TWO = frozenset({"ethosgen_two.c"})
CHANNELS = 2


@packed("FULLY_CONNECTED", cycles=cost.DENSE)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    weights = weights.reshape(-1, weights.shape[-1])
    return _product(layer, weights, op.options.get(PART_ROWS, 0))


def _helium(op: Operator, tensors: Sequence[Tensor]) -> float:
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    channels, height, width, depth = weights.shape
    window = make_window(op, (height, width), source, target)
    if op.code == "CONV_2D" and _is_for_two(source, *window, weights.shape):
        return (cycles_of_two(*window, depth, channels) or 0.0) / (
            window[0].target * window[1].target * channels
        )
    strips = _strips_of(op, tensors)
    return strips.cycles / strips.outputs if strips else cost.CONVOLUTION.helium(op, tensors)


def _in_c(op: Operator, tensors: Sequence[Tensor]) -> float:
    strips = _strips_of(op, tensors)
    return strips.cycles_in_c / strips.outputs if strips else cost.CONVOLUTION.in_c(op, tensors)


def _strips_of(op: Operator, tensors: Sequence[Tensor]) -> Strips | None:
    """Return the strips of a layer or of each group, None if its rows are in the input."""
    source, weights, target = tensors[op.inputs[0]], tensors[op.inputs[1]], tensors[op.outputs[0]]
    _, height, width, depth = weights.shape
    vertical, horizontal = make_window(op, (height, width), source, target)
    if op.code == "CONV_2D" and depth != source.shape[3]:
        return group_strips(source, (vertical, horizontal), depth, target.shape[3])
    if is_point(vertical, horizontal):
        return None
    return cheapest_strips(vertical, horizontal, source.shape[3], target.shape[3])


def group_strips(source: Tensor, window: tuple[Axis, Axis], depth: int, channels: int) -> Strips:
    """Return the strips of each group of channels."""
    count = source.shape[3] // depth
    return cheapest_strips(*window, depth, channels // count, others=source.shape[3] - depth)


ESTIMATE = TwoForms(_helium, _in_c)
"""Of convolutions of int8, including depthwise ones of one channel."""


@packed("CONV_2D", cycles=ESTIMATE)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply pixels by weights if a window is one pixel, else copies of each window's pixels."""
    layer = packable_layer(op, tensors)
    if layer is not None:
        return convolution(op, layer, layer.weights.array())
    split = order.split_weights(op, tensors)
    return None if split is None else _convolution_twice(op, *split)


def _convolution_twice(op: Operator, layer: Layer, weights: Array) -> Kernel:
    """Return a kernel for weights split into two terms; each window is copied twice."""
    vertical, horizontal = make_window(op, weights.shape[1:3], layer.source, layer.target)
    terms = [weights[..., i].reshape(len(weights), -1) for i in (0, 1)]
    return _patches(layer, np.hstack(terms), weights.shape[3], vertical, horizontal, copies=2)


def convolution(op: Operator, layer: Layer, weights: Array) -> Kernel:
    """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
    vertical, horizontal = make_window(op, weights.shape[1:3], layer.source, layer.target)
    flat = weights.reshape(len(weights), -1)
    if _is_for_two(layer.source, vertical, horizontal, weights.shape):
        return two_channels(layer, weights, vertical, horizontal)
    if weights.shape[3] == layer.source.shape[3] and is_point(vertical, horizontal):
        return _product(layer, flat, op.options.get(PART_ROWS, 0))
    if weights.shape[3] == layer.source.shape[3]:
        return _strips(layer, weights, vertical, horizontal)
    return _groups(layer, weights, vertical, horizontal)


def _is_for_two(source: Tensor, vertical: Axis, horizontal: Axis, weights: tuple[int, ...]) -> bool:
    """Return whether the kernel for one or two channels is cheapest."""
    channels, _, _, depth = weights
    cycles = cycles_of_two(vertical, horizontal, depth, channels)
    if cycles is None or depth != source.shape[3]:
        return False
    if is_point(vertical, horizontal):
        return cycles < cost.multiplied(vertical.target * horizontal.target, depth, channels)
    return cycles < cheapest_strips(vertical, horizontal, depth, channels).cycles


def _groups(layer: Layer, weights: Array, vertical: Axis, horizontal: Axis) -> Kernel:
    """Return a kernel that computes the groups of channels one after another."""
    source, depth = layer.source, weights.shape[3]
    count = source.shape[3] // depth
    strips = group_strips(source, (vertical, horizontal), depth, layer.channels)
    packs, scales, matrix = _constants(layer, strip_order(weights, strips), count, 0, strips.window)
    shape = strip_shape(layer, strips, output_steps(layer), matrix)
    function = convolution_function(strips)
    return windows_kernel(layer, depth, function, (packs, scales, shape))


def _strips(layer: Layer, weights: Array, vertical: Axis, horizontal: Axis) -> Kernel:
    """Return a kernel that copies the rows under a row of windows, if they are not in place."""
    strips = cheapest_strips(vertical, horizontal, layer.source.shape[3], layer.channels)
    constants = strip_constants(layer, weights, strips, output_steps(layer))
    is_by_row = not strips.is_turned and strips.across == vertical and strips.pieces == 1
    down = vertical if is_by_row else None
    return images_kernel(layer, convolution_function(strips), named(*constants), down)


def output_steps(layer: Layer) -> tuple[int, int]:
    """Return the bytes from an output to the output below it, and to the next in its row."""
    _, _, width, channels = layer.target.shape
    pixel = channels * np.dtype(layer.target.dtype).itemsize
    return width * pixel, pixel


def strip_constants(
    layer: Layer, weights: Array, strips: Strips, steps: tuple[int, int]
) -> tuple[Array, Array, shapes.HeliumConvolution]:
    """Return packed weights, scales, and the struct of a convolution.

    `steps` has the bytes from an output to the output below it, and to the next in its row.
    """
    packs, scales, matrix = _constants(layer, strip_order(weights, strips), 1, 0, strips.window)
    return packs, scales, strip_shape(layer, strips, steps, matrix)


def strip_order(weights: Array, strips: Strips) -> Array:
    """Return (channels, products) in the order of a strip."""
    channels = len(weights)
    if not strips.is_turned:
        shape = (channels, strips.across.taps, strips.along.taps, -1)
        weights = weights.reshape(shape).transpose(0, 2, 1, 3)
    return weights.reshape(channels, -1)


def strip_shape(
    layer: Layer, strips: Strips, steps: tuple[int, int], matrix: shapes.HeliumMatrix
) -> shapes.HeliumConvolution:
    """Return the struct of a convolution, with its products' struct."""
    return shapes.HeliumConvolution(
        depth=strips.depth,
        zero_point=zero_point_of(layer.source),
        along=axis_of(strips.along, layer, strips.is_turned, steps),
        across=axis_of(strips.across, layer, not strips.is_turned, steps),
        phases=strips.along.phases,
        pixels=strips.pixels,
        columns=strips.columns,
        height=strips.height,
        window_step=strips.window_step,
        bytes=strips.bytes,
        matrix=matrix,
    )


def matrix_function(depth: int, rows: int | None = None) -> str:
    """Return the name of the kernel for a matrix, whose number of rows may be unknown."""
    return "ethosgen_row_s8" if rows == 1 else f"ethosgen_matrix{_short(depth)}_s8"


def convolution_function(strips: Strips) -> CFunction:
    """Return the kernel for strips; in place it takes no strip."""
    in_place, room = ("_in_place", 0) if strips.is_in_place else ("", strips.bytes)
    name = f"ethosgen_convolution{in_place}{_short(strips.window)}_s8"
    ahead = 1 if strips.is_in_place else 0
    return CFunction(name, MATRIX | CONVOLUTION, room, "strip", ahead)


def _short(depth: int) -> str:
    """Return the part of a kernel's name for rows of one vector."""
    return "_short" if depth <= order.MATRIX_DEPTH else ""


def axis_of(
    axis: Axis, layer: Layer, is_vertical: bool, steps: tuple[int, int]
) -> shapes.HeliumAxis:
    """Return the struct of an axis; `steps` are from an output down and to the right."""
    _, _, width, channels = layer.source.shape
    pixel = channels * np.dtype(layer.source.dtype).itemsize
    return shapes.HeliumAxis(
        size=axis.source,
        input_step=width * pixel if is_vertical else pixel,
        padding=axis.padding,
        stride=axis.stride,
        dilation=axis.dilation,
        outputs=axis.target,
        output_step=steps[0] if is_vertical else steps[1],
    )


def _product(layer: Layer, weights: Array, part: int) -> Kernel:
    """Return a kernel for rows that are contiguous in the input, `part` or (0) all at a time."""
    rows, depth = layer.target.elements // layer.channels, weights.shape[1]
    if rows == 1 and (row := _row_of_eights(layer, weights)):
        return row
    constants = matrix_constants(layer, weights, rows)
    if 0 < abs(part) < rows:
        function = CFunction(f"ethosgen_matrix_parts{_short(depth)}_s8", MATRIX | PARTS)
        return parts_kernel(layer, function, constants, part)
    function = CFunction(matrix_function(depth, rows), MATRIX)
    return rows_kernel(layer, function, constants, has_count=False)


def _row_of_eights(layer: Layer, weights: Array) -> Kernel | None:
    """Return a kernel for one row and 8 channels at a time, None if it does not apply."""
    channels, depth = weights.shape
    table = settled_table(layer, weights)
    if not order.is_row_of_eights(depth, table):
        return None
    output = shapes.output_of(layer)
    matrix = shapes.HeliumMatrix(
        rows=1,
        depth=depth,
        channels=channels,
        output=output,
        has_common_shifts=int(has_common_shifts(table)),
    )
    constants = order.row_weights(weights), order.row_scales(table), matrix
    return rows_kernel(layer, CFunction("ethosgen_row_eight_s8", ROW), constants, has_count=False)


def matrix_constants(
    layer: Layer, weights: Array, rows: int
) -> tuple[Array, Array, shapes.HeliumMatrix]:
    """Return packed weights, scales, and the struct for rows in the input."""
    return _constants(layer, weights, 1, rows, weights.shape[1])


def _patches(
    layer: Layer, weights: Array, depth: int, vertical: Axis, horizontal: Axis, copies: int = 1
) -> Kernel:
    """Return a kernel that copies each window's pixels into a row of the workspace.

    With several groups each window is copied group by group, each group `copies` times.
    """
    source, target = layer.source, layer.target
    groups = source.shape[3] // depth
    channels = layer.channels // groups
    row = rounded_up(weights.shape[1], order.MATRIX_DEPTH)
    covered = weights.shape[1] // copies
    packed_weights, scales, matrix = _constants(layer, weights, groups, 1, row)
    counts = len(packed_weights), len(scales)
    steps = counts[0] // groups, counts[1] // groups
    copy = "ethosgen_patch_s8" if groups == 1 else "ethosgen_patch_part_s8"
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    window_shape = _window(source, depth, vertical, horizontal)
    constants = named(packed_weights, scales, matrix, window_shape).items()
    w, s, shape, window = (nest.table(name, values) for name, values in constants)
    patch = nest.room("patch", row)
    with nest.loops((*target.shape[:3], groups), "n oy ox group") as (n, oy, ox, group):
        with nest.loop("i", copies) as i:
            nest.call(
                copy,
                *(address(patch, i * covered), address(x, n, 0, 0, group * depth)),
                oy * vertical.stride - vertical.padding,
                ox * horizontal.stride - horizontal.padding,
                window.data,
            )
        nest.call(
            matrix_function(row, 1),
            *(address(y, n, oy, ox, group * channels), patch.data),
            *(address(w, group * steps[0]), address(s, group * steps[1]), shape.data),
        )
    return nest.kernel(MATRIX | ROWS)


def _window(source: Tensor, depth: int, vertical: Axis, horizontal: Axis) -> shapes.HeliumWindow:
    """Return the struct of windows that copies `depth` channels of each pixel."""
    _, height, width, channels = source.shape
    size = np.dtype(source.dtype).itemsize
    return shapes.HeliumWindow(
        height=height,
        width=width,
        channels=depth * size,
        taps_y=vertical.taps,
        taps_x=horizontal.taps,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        zero_point=zero_point_of(source),
        pixel=channels * size,
    )


def _constants(
    layer: Layer, weights: Array, groups: int, rows: int, depth: int
) -> tuple[Array, Array, shapes.HeliumMatrix]:
    """Return packed weights and scales, group by group, and the struct of the products."""
    table = settled_table(layer, weights)
    matrix = shapes.HeliumMatrix(
        rows=rows,
        depth=depth,
        channels=layer.channels // groups,
        output=shapes.output_of(layer),
        has_common_shifts=int(has_common_shifts(table)),
    )
    return (
        by_group(order.matrix_weights, weights, groups),
        by_group(order.matrix_scales, table, groups),
        matrix,
    )


def cycles_of_two(vertical: Axis, horizontal: Axis, depth: int, channels: int) -> float | None:
    """Return the estimated instructions for a picture, None if the kernel does not cover it."""
    is_row = horizontal.dilation == 1 or horizontal.taps == 1
    if channels > CHANNELS or not (vertical.is_inside and horizontal.is_inside and is_row):
        return None
    vectors = pieces(horizontal.taps * depth, order.MATRIX_DEPTH)
    rows, pixels = _rows_of_two(vertical, horizontal)
    pair = 45 + vertical.taps * (12 + 9.0 * vectors)
    return 40 + rows * 10 + rows * pieces(pixels, 2) * pair


def _rows_of_two(vertical: Axis, horizontal: Axis) -> tuple[int, int]:
    """Return the rows and the pixels of each; pixels that are windows are all in one row."""
    rows, pixels = vertical.target, horizontal.target
    return (1, rows * pixels) if is_point(vertical, horizontal) else (rows, pixels)


def two_channels(layer: Layer, weights: Array, vertical: Axis, horizontal: Axis) -> Kernel:
    """Return a kernel for weights of (output channel, row, column, input channel)."""
    _, _, width, depth = layer.source.shape
    row = width * depth
    rows, pixels = _rows_of_two(vertical, horizontal)
    shape = Two(
        rows=rows,
        pixels=pixels,
        row_step=vertical.stride * row,
        pixel_step=horizontal.stride * depth,
        taps=vertical.taps,
        tap_step=vertical.dilation * row,
        tap_bytes=horizontal.taps * depth,
        channels=layer.channels,
        output=output_of(layer),
    )
    table = channel_table(layer, weights.reshape(layer.channels, -1))
    scales = np.resize(table, (2 * CHANNELS, 3)).T.reshape(-1)
    function = CFunction("ethosgen_convolution_two_s8", TWO)
    return images_kernel(layer, function, named(_ordered(weights), scales, shape))


def _ordered(weights: Array) -> Array:
    """Pack weights: for every row, for every 16 bytes of it, those of both channels."""
    channels, rows = weights.shape[:2]
    flat = padded(weights.reshape(channels, rows, -1), order.MATRIX_DEPTH, 2)
    both = padded(flat, CHANNELS, 0)
    split = both.reshape(CHANNELS, rows, -1, order.MATRIX_DEPTH)
    return np.ascontiguousarray(split.transpose(1, 2, 0, 3)).reshape(-1)
