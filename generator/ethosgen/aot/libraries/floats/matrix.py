"""Rows times weights in float32: FULLY_CONNECTED, CONV_2D, depthwise convolution of one channel.

TRANSPOSE_CONV becomes ordinary convolutions from strips. An output adds its products in the order
of the inputs, as TFLite Micro does.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ethosgen.aot.cost import Cycles, TwoForms
from ethosgen.aot.libraries.floats import cost, order, shapes
from ethosgen.aot.libraries.floats.strips import ConvolutionSizes, FloatStrips, Rows, cheapest
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.libraries.framework.transposed import (
    ConvolutionPart,
    PartCall,
    parts_kernel,
    parts_of,
    transposed_sizes,
)
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

MATRIX = frozenset({"ethosgen_matrix_f32.c"})
CONVOLUTION = MATRIX | {"ethosgen_convolution_f32.c"}
_POINT = Axis(taps=1, stride=1, dilation=1, padding=0, source=1, target=1)
PART_CALL = 100
"""Instructions of a part outside its strips."""


def two_forms(whole: Callable[[cost.Figures, Operator, Sequence[Tensor]], float]) -> TwoForms:
    """Return the estimates per output, with and without Helium, from an operator's estimate."""

    def each(by: cost.Figures) -> Cycles:
        def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
            return whole(by, op, tensors) / max(tensors[op.outputs[0]].elements, 1)

        return cycles

    return TwoForms(each(cost.HELIUM), each(cost.IN_C))


def _dense(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    target, depth = tensors[op.outputs[0]], tensors[op.inputs[1]].shape[-1]
    channels = target.shape[-1]
    return cost.rows(by, target.elements // max(channels, 1), depth, channels)


@packed("FULLY_CONNECTED", dtype="float32", cycles=two_forms(_dense))
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = order.float_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    weights = weights.reshape(-1, weights.shape[-1])
    count, depth, channels = layer.target.elements // layer.channels, weights.shape[1], len(weights)
    sizes = ConvolutionSizes(_POINT, _POINT, depth, depth, channels)
    return _multiply(layer, weights, sizes, Rows(1, count, 0, 0, depth, channels), batches=1)


def sizes_of(op: Operator, tensors: Sequence[Tensor]) -> ConvolutionSizes:
    """Return the sizes of a convolution, also of a depthwise one of one channel."""
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], op.outputs[0]))
    _, height, width, depth = weights.shape
    depth = depth if op.code == "CONV_2D" else 1
    window = make_window(op, (height, width), source, target)
    return ConvolutionSizes(*window, source.shape[3], depth, target.shape[3])


def whole_convolution(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    """Return the estimate of a convolution's instructions."""
    sizes = sizes_of(op, tensors)
    return tensors[op.outputs[0]].shape[0] * cheapest(sizes).cycles(by, sizes)


@packed("CONV_2D", dtype="float32", cycles=two_forms(whole_convolution))
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply windows in the input if they are contiguous there, else copies of them."""
    layer = order.float_layer(op, tensors)
    if layer is None:
        return None
    return convolution(layer, layer.weights.array(), sizes_of(op, tensors))


def convolution(layer: Layer, weights: Array, sizes: ConvolutionSizes) -> Kernel:
    """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
    form = cheapest(sizes)
    if isinstance(form, Rows):
        flat = weights.reshape(len(weights), -1)
        return _multiply(layer, flat, sizes, form, layer.source.shape[0])
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    steps = layer.target.shape[2] * layer.channels, layer.channels
    packs = packed_groups(layer, weights, sizes.groups)
    w = nest.table("weights", np.concatenate(packs))
    shape = nest.table("shape", strip_shape(form, steps, len(packs[0])))
    strip = nest.workspace("strip", "float32", (form.floats,))
    with nest.loop("n", layer.target.shape[0]) as n:
        places = tirx.address_of(y[n, 0, 0, 0]), tirx.address_of(x[n, 0, 0, 0])
        nest.call("ethosgen_convolution_f32", *places, strip.data, w.data, shape.data)
    return nest.kernel(CONVOLUTION)


def packed_groups(layer: Layer, weights: Array, groups: int) -> list[Array]:
    """Return the packed weights of each group."""
    return [
        order.matrix_weights(part.reshape(len(part), -1), biases, layer.bounds)
        for part, biases in zip(
            np.split(weights, groups), np.split(order.biases_of(layer), groups), strict=True
        )
    ]


def strip_shape(
    strips: FloatStrips, steps: tuple[int, int], group_weights: int
) -> shapes.FloatConvolution:
    """Return the struct of a convolution.

    `steps` has the floats from an output to the output below it, and to the next in its row.
    """
    sizes = strips.sizes
    channels = sizes.source_channels
    return shapes.FloatConvolution(
        vertical=_windows(sizes.vertical, sizes.horizontal.source * channels, steps[0]),
        horizontal=_windows(sizes.horizontal, channels, steps[1]),
        depth=sizes.depth,
        groups=sizes.groups,
        group_weights=group_weights,
        outputs=strips.outputs,
        is_shared=int(strips.is_shared),
        channels=sizes.group_channels,
    )


def _windows(axis: Axis, source_step: int, target_step: int) -> shapes.FloatWindows:
    """Return the struct of an axis."""
    return shapes.FloatWindows(
        source=axis.source,
        source_step=source_step,
        taps=axis.taps,
        stride=axis.stride,
        dilation=axis.dilation,
        padding=axis.padding,
        target=axis.target,
        target_step=target_step,
    )


def _multiply(
    layer: Layer, weights: Array, sizes: ConvolutionSizes, rows: Rows, batches: int
) -> Kernel:
    """Return a kernel for rows that are contiguous in the input."""
    source, target = layer.source.elements // batches, layer.target.elements // batches
    count, groups = rows.count, sizes.groups
    if rows.pieces == 1 and source == count * rows.step:
        count, batches = count * batches, 1
    matrix = shapes.FloatMatrix(
        rows=count,
        depth=weights.shape[1],
        channels=sizes.group_channels,
        input_step=rows.step,
        output_step=rows.target_step,
    )
    packs = packed_groups(layer, weights, groups)
    nest = Nest()
    x = nest.read("input", layer.source, (layer.source.elements,))
    y = nest.write("output", layer.target, (layer.target.elements,))
    w = nest.table("weights", np.concatenate(packs))
    shape = nest.table("shape", matrix)
    with nest.loops((batches, rows.pieces, groups), "n piece group") as (n, piece, group):
        to = n * target + piece * rows.target_piece_step + group * sizes.group_channels
        at = n * source + piece * rows.piece_step + group * sizes.depth
        nest.call(
            "ethosgen_matrix_f32",
            *(tirx.address_of(y[to]), tirx.address_of(x[at])),
            *(tirx.address_of(w[group * len(packs[0])]), shape.data),
        )
    return nest.kernel(MATRIX)


def _parts(op: Operator, tensors: Sequence[Tensor]) -> list[tuple[ConvolutionPart, FloatStrips]]:
    """Return the convolutions, none if there are too many or if some outputs have no input."""
    parts = next(parts_of(transposed_sizes(op, tensors), merges=False), ())
    phases = [phase for part in parts for phase in (part.down, part.across)]
    if any(tap < 0 for phase in phases for tap in phase.taps[0]):
        return []
    return [(part, FloatStrips(_part_sizes(part))) for part in parts]


def _part_sizes(part: ConvolutionPart) -> ConvolutionSizes:
    axes = part.down.axis, part.across.axis
    return ConvolutionSizes(*axes, part.depth, part.depth, part.channels)


def _whole_parts(by: cost.Figures, op: Operator, tensors: Sequence[Tensor]) -> float:
    batches = tensors[op.outputs[0]].shape[0]
    parts = _parts(op, tensors)
    return batches * sum(PART_CALL + strips.cycles(by, strips.sizes) for _, strips in parts)


@packed("TRANSPOSE_CONV", dtype="float32", cycles=two_forms(_whole_parts))
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Convolve the input once for each part, and write the part's outputs at their stride."""
    layer = order.float_layer(op, tensors)
    parts = [] if layer is None else _parts(op, tensors)
    if layer is None or not parts:
        return None
    calls = []
    for part, strips in parts:
        (weights,) = packed_groups(layer, part.weights(layer), 1)
        shape = strip_shape(strips, part.steps(layer), len(weights))
        calls.append(PartCall(part, "ethosgen_convolution_f32", (weights, shape)))
    room = (max(strips.floats for _, strips in parts),)
    return parts_kernel(
        layer,
        calls,
        ("weights", "shape"),
        lambda nest: nest.workspace("strip", "float32", room),
        CONVOLUTION,
    )
