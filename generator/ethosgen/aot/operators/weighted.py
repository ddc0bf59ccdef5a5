"""Layers with weights: the convolutions and FULLY_CONNECTED; `layer` has their common code."""

from collections.abc import Sequence

from ethosgen.aot.cost import TwoForms, per_product, per_scattered_product
from ethosgen.aot.loops.layer import WEIGHTS, Sums, read_layer
from ethosgen.aot.loops.window import make_transposed_window, make_window
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

DTYPES = tuple(WEIGHTS)

SCATTERED = per_scattered_product(
    {"int8": 3.5, "int16": 12.0, "float32": 6.0}, other=12.0, check={"int8": 18.4}
)
"""int8: least squares over what was counted (evidence/choice.md). Counted for int16: 8.6 to 14.8
cycles for a depth of 16 or 8, and 5.0 to 7.5 for floats."""


_CONVOLUTION = TwoForms(
    per_product(int8=11.0, int16=9.0),
    per_product(int8=11.0, int16=14.5),
)


@operator("CONV_2D", dtypes=DTYPES, cycles=_CONVOLUTION)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve NHWC with weights (output channel, row, column, input channel), also with groups."""
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


@operator(
    "DEPTHWISE_CONV_2D",
    dtypes=DTYPES,
    cycles=per_product(int8=11.4, int16=15.4, dims=slice(1, 3), output=110.0),
)
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


@operator("TRANSPOSE_CONV", dtypes=DTYPES, decided_by=2, cycles=SCATTERED)
def transpose_conv(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Sum, for each output, the products of all inputs whose window covers it.

    TFLite iterates over the inputs and needs a 32- or 64-bit accumulator for each output. Here each
    output is computed in one go, its terms in the same order.
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


_DENSE = TwoForms(
    per_product(int8=5.1, int16=4.1, int8_output=18.0),
    per_product(int8=5.1, int16=7.1, int8_output=18.0),
)


@operator("FULLY_CONNECTED", dtypes=DTYPES, cycles=_DENSE)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply rows of the input by weights (output channel, input channel)."""
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
