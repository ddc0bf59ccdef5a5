"""Layers with weights: the convolutions and FULLY_CONNECTED; `layer` has what they share."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.loops.layer import WEIGHTS, Sums, read_layer
from ethosgen.aot.loops.window import make_transposed_window, make_window
from ethosgen.aot.operators import Kernel, operator
from ethosgen.values.model import Operator, Tensor

DTYPES = tuple(WEIGHTS)


@operator("CONV_2D", dtypes=DTYPES)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve NHWC with weights of (output channel, row, column, input channel), in groups too."""
    layer = read_layer(op, tensors)
    source, target, shape = layer.source, layer.target, layer.weights.shape
    vertical, horizontal = make_window(op, (shape[1], shape[2]), source, target)
    depth = shape[3]
    groups = source.shape[3] // depth
    sums = Sums(layer, source.shape, shape, target.shape)
    nest = sums.nest
    with nest.loops(target.shape) as (n, oy, ox, oc):
        first = tirx.truncdiv(oc, target.shape[3] // groups) * depth if groups > 1 else 0
        sums.start(oc)
        with (
            vertical.taps_inside(nest, "dy", oy) as (dy, iy),
            horizontal.taps_inside(nest, "dx", ox) as (dx, ix),
            nest.loop("ic", depth) as ic,
        ):
            sums.add(sums.x[n, iy, ix, first + ic], sums.w[oc, dy, dx, ic])
        sums.finish((n, oy, ox, oc), oc)
    return sums.kernel()


@operator("DEPTHWISE_CONV_2D", dtypes=DTYPES)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve each channel of NHWC separately, with weights (1, row, column, output channel)."""
    layer = read_layer(op, tensors)
    source, target, shape = layer.source, layer.target, layer.weights.shape
    vertical, horizontal = make_window(op, (shape[1], shape[2]), source, target)
    per_input = layer.channels // source.shape[3]
    sums = Sums(layer, source.shape, shape, target.shape)
    nest = sums.nest
    with nest.loops(target.shape) as (n, oy, ox, oc):
        ic = tirx.truncdiv(oc, per_input) if per_input > 1 else oc
        sums.start(oc)
        with (
            vertical.taps_inside(nest, "dy", oy) as (dy, iy),
            horizontal.taps_inside(nest, "dx", ox) as (dx, ix),
        ):
            sums.add(sums.x[n, iy, ix, ic], sums.w[0, dy, dx, oc])
        sums.finish((n, oy, ox, oc), oc)
    return sums.kernel()


@operator("TRANSPOSE_CONV", dtypes=DTYPES)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Add to each output what the inputs whose window covers it send there.

    TFLite goes through the inputs and needs 32 or 64 bits of memory for each output; here each
    output's sum is made at once, its terms in the same order.
    """
    layer = read_layer(op, tensors)
    source, target, shape = layer.source, layer.target, layer.weights.shape
    vertical, horizontal = make_transposed_window(op, (shape[1], shape[2]), source, target)
    sums = Sums(layer, source.shape, shape, target.shape)
    nest = sums.nest
    with nest.loops(target.shape) as (n, oy, ox, oc):
        sums.start(oc)
        with (
            vertical.inputs_above(nest, "iy", oy) as (iy, dy),
            horizontal.inputs_above(nest, "ix", ox) as (ix, dx),
            nest.loop("ic", shape[3]) as ic,
        ):
            sums.add(sums.x[n, iy, ix, ic], sums.w[oc, dy, dx, ic])
        sums.finish((n, oy, ox, oc), oc)
    return sums.kernel()


@operator("FULLY_CONNECTED", dtypes=DTYPES)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply rows of the input by weights of (output channel, input channel)."""
    layer = read_layer(op, tensors)
    channels, depth = layer.weights.shape[-2:]
    rows = layer.target.elements // channels
    sums = Sums(layer, (rows, depth), (channels, depth), (rows, channels))
    nest = sums.nest
    with nest.loops((rows, channels)) as (n, oc):
        sums.start(oc)
        with nest.loop("ic", depth) as ic:
            sums.add(sums.x[n, ic], sums.w[oc, ic])
        sums.finish((n, oc), oc)
    return sums.kernel()
