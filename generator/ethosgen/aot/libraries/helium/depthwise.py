"""DEPTHWISE_CONV_2D of int8."""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.aot.cost import TwoForms
from ethosgen.aot.libraries.framework.calls import (
    CFunction,
    call_for_images,
    named,
    picture_distance,
)
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.framework.parts import IN_PLACE
from ethosgen.aot.libraries.helium import order, shapes
from ethosgen.aot.libraries.helium.lines import WORD, Lines, cheapest_lines
from ethosgen.aot.libraries.helium.matrix import ESTIMATE, axis_of, convolution, output_steps
from ethosgen.aot.libraries.helium.scales import LIMIT, has_common_shifts, settled_table
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, address
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.values.network import Operator, Tensor

DIRECT = frozenset({"ethosgen_depthwise_in_place.c"})
LINES = frozenset(f"ethosgen_depthwise{part}" for part in (".c", ".h", "_loops.c"))


def _helium(op: Operator, tensors: Sequence[Tensor]) -> float:
    lines = _lines_of(op, tensors)
    if lines is None:
        return ESTIMATE.helium(op, tensors)
    return lines.cycles / lines.outputs


def _in_c(op: Operator, tensors: Sequence[Tensor]) -> float:
    lines = _lines_of(op, tensors)
    return ESTIMATE.in_c(op, tensors) if lines is None else lines.cycles_in_c / lines.outputs


@packed("DEPTHWISE_CONV_2D", cycles=TwoForms(_helium, _in_c))
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a picture in one call, from lines in which each window is contiguous.

    Pixels are copied to the lines of some channels, padded with the zero point, so the kernel needs
    no code for borders; a channel with several outputs is repeated.
    """
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    if layer.source.shape[3] == 1:
        return convolution(op, layer, layer.weights.array().transpose(3, 1, 2, 0))
    lines = _lines_of(op, tensors)
    return None if lines is None else _kernel(layer, lines, bool(op.options.get(IN_PLACE)))


def _lines_of(op: Operator, tensors: Sequence[Tensor]) -> Lines | None:
    """Return the lines of a layer, None if it has one input channel or they are too long."""
    source, weights, target = tensors[op.inputs[0]], tensors[op.inputs[1]], tensors[op.outputs[0]]
    if source.shape[3] == 1:
        return None
    _, height, width, _ = weights.shape
    window = make_window(op, (height, width), source, target)
    channels = target.shape[3]
    return cheapest_lines(*window, channels, channels // source.shape[3])


def _kernel(layer: Layer, lines: Lines, is_over: bool) -> Kernel:
    """Return the kernel of a layer; if `is_over` and it can, its output may replace its input."""
    is_over = is_over and _may_be_over(layer, lines)
    room = 0 if lines.is_in_place else lines.room_bytes * (2 if is_over else 1)
    files = DIRECT if lines.is_in_place else LINES
    table = settled_table(layer, layer.weights.array()[0].reshape(-1, layer.channels).T)
    form = lines.form if has_common_shifts(table) else lines.form_for_any_shift
    function = CFunction(f"ethosgen_depthwise_{form}_s8", files, room, "lines")
    nest = Nest()
    shape = _shape(layer, lines, second=lines.room_bytes if is_over else 0)
    constants = *_constants(layer, lines, table), shape
    y = call_for_images(nest, layer, function, named(*constants))
    if not lines.is_in_place and layer.bounds != (-128, 127):
        nest.call("ethosgen_limit_s8", address(y, 0, 0, 0, 0), layer.target.elements, *layer.bounds)
        files |= LIMIT
    kernel = replace(nest.kernel(files), in_place=is_over)
    return kernel if is_over else _with_distance(kernel, layer, lines)


def _may_be_over(layer: Layer, lines: Lines) -> bool:
    """Return whether each output may replace its input if the next rows are copied before."""
    is_alike = layer.source.shape == layer.target.shape and layer.source.shape[0] == 1
    is_alone = lines.block >= layer.channels or layer.channels % order.MATRIX_CHANNELS == 0
    is_ahead = lines.pieces == 1 and lines.shared >= lines.across.padding and not lines.is_in_place
    return is_alike and is_alone and is_ahead


def _with_distance(kernel: Kernel, layer: Layer, lines: Lines) -> Kernel:
    """Return the kernel with the distance at which its output may lie over its input.

    The lines of some rows are filled before their outputs are written. If they have a part of the
    channels, input and output must lie pixel on pixel, so that others keep their inputs.
    """
    if not lines.is_by_row:
        return kernel
    is_whole = lines.block >= layer.channels
    if not is_whole and (lines.copies > 1 or layer.channels % order.MATRIX_CHANNELS):
        return kernel
    down = lines.across
    distance = picture_distance(layer.source, layer.target, 0, down.stride, down.padding)
    return replace(kernel, distance=distance, distance_unit=1 if is_whole else layer.channels)


def _constants(layer: Layer, lines: Lines, table: Array) -> tuple[Array, Array]:
    """Return packed weights and scales."""
    weights = layer.weights.array()[0]
    if not lines.is_in_place:
        groups = order.whole_groups(layer.channels)
        weights, table = weights[..., groups], table[groups]
    if not lines.is_turned:
        weights = weights.reshape(lines.across.taps, lines.along.taps, -1).transpose(1, 0, 2)
    if lines.is_in_place:
        return order.tap_weights(weights.reshape(lines.taps, -1)), order.tap_scales(table)
    return order.depthwise_weights(weights, lines.height), order.matrix_scales(table)


def _shape(layer: Layer, lines: Lines, second: int) -> shapes.HeliumDepthwise:
    channels, depth = layer.channels, layer.source.shape[3]
    steps = output_steps(layer)
    shape = shapes.HeliumDepthwise(
        channels=channels,
        copies=channels // depth,
        zero_point=zero_point_of(layer.source),
        along=axis_of(lines.along, layer, lines.is_turned, steps),
        across=axis_of(lines.across, layer, not lines.is_turned, steps),
        phases=lines.along.phases,
        pixels=lines.pixels,
        block=lines.block,
        columns=lines.copied_columns,
        height=lines.height,
        line_bytes=lines.line_bytes // lines.sharing,
        rows=lines.across.taps,
        shared=lines.shared,
        second=second,
        window_step=lines.window_step,
        taps=lines.taps,
        vectors=lines.vectors,
        output=shapes.output_of(layer),
    )
    return _folded(shape) if lines.is_folded else shape


def _folded(shape: shapes.HeliumDepthwise) -> shapes.HeliumDepthwise:
    """Return a row's numbers as the kernel copies it: as four rows of a quarter as many columns."""
    pixel = shape.along.input_step
    along = replace(shape.along, input_step=WORD * pixel)
    across = replace(shape.across, size=WORD, input_step=pixel, dilation=1)
    return replace(shape, along=along, across=across, height=WORD, rows=WORD)
