"""Convolutions and MATMUL of TOSA: sums of products in int32, int64 for int16 inputs, or float32.

Rescaling is a separate operator, which fusion joins to the layer's stores. TOSA allows any order of
float sums, within bounds that hold for this one.
"""

from collections.abc import Sequence
from typing import Any

from ethosgen.aot.loops.window import Axis
from ethosgen.aot.operators import LIBRARY_ULP, operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, dtype_of, int32, number
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

INTEGERS, FLOATS = ("int8", "int16"), ("float32",)


class Products:
    """A layer's sums: its parameters as buffers, and the statements that compute one output."""

    def __init__(self, op: Operator, tensors: Sequence[Tensor]) -> None:
        source, weights, bias, *points = (tensors[i] for i in op.inputs)
        self.source, self.weights = source, weights
        self.target = tensors[op.outputs[0]]
        self.nest = Nest()
        self.x = self.nest.read("input", source)
        self.w = self.nest.read("weights", weights)
        self.bias = self.nest.read("bias", bias)
        self.biases = bias.elements
        self.y = self.nest.write("output", self.target)
        self.offsets = [point_of(point) for point in points]
        self.total: Any = None

    def start(self, channel: Any) -> None:
        """Start with the bias."""
        first = self.bias[channel if self.biases > 1 else 0]
        self.total = self.nest.local("total", first)

    def add(self, x: Any, weight: Any) -> None:
        """Add the product of an input element and a weight."""
        product = centred(weight, self.offsets[1]) * centred(x, self.offsets[0])
        self.nest.store(self.total, (0,), self.total[0] + cast(self.target.dtype, product))

    def finish(self, place: Sequence[Any]) -> None:
        """Store the sum."""
        self.nest.store(self.y, place, self.total[0])


def point_of(tensor: Tensor) -> int:
    """Return a zero point's value."""
    return int(tensor.array().reshape(-1)[0])


def centred(x: Any, offset: int) -> Any:
    """Return x - offset as int32; a float, which has no offset, unchanged."""
    if dtype_of(x) in FLOATS:
        return x
    return int32(x) - offset if offset else int32(x)


def cast(dtype: str, x: Any) -> Any:
    """Return a number as another type of sums."""
    return x if dtype_of(x) == dtype else tirx.Cast(dtype, x)


def axes(
    op: Operator, source: Sequence[int], taps: Sequence[int], target: Sequence[int]
) -> list[Axis]:
    """Return the windows of an operator along its spatial dimensions."""
    options = op.options
    count = len(taps)
    dilations = options.get("dilation", (1,) * count)
    return [
        Axis(
            taps[i], options["stride"][i], dilations[i], options["pad"][2 * i], source[i], target[i]
        )
        for i in range(count)
    ]


@operator("TOSA_CONV2D", dtypes=FLOATS, ulp=LIBRARY_ULP)
@operator("TOSA_CONV2D", dtypes=INTEGERS)
def conv2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve NHWC with weights (output channel, row, column, input channel)."""
    sums = Products(op, tensors)
    nest, weights, target = sums.nest, sums.weights.shape, sums.target.shape
    vertical, horizontal = axes(op, sums.source.shape[1:3], weights[1:3], target[1:3])
    with nest.loops(target) as (n, oy, ox, oc):
        sums.start(oc)
        with (
            vertical.taps_inside(nest, "dy", oy) as (dy, iy),
            horizontal.taps_inside(nest, "dx", ox) as (dx, ix),
            nest.loop("ic", weights[3]) as ic,
        ):
            sums.add(sums.x[n, iy, ix, ic], sums.w[oc, dy, dx, ic])
        sums.finish((n, oy, ox, oc))
    return nest.kernel()


@operator("TOSA_CONV3D", dtypes=FLOATS, ulp=LIBRARY_ULP)
@operator("TOSA_CONV3D", dtypes=INTEGERS)
def conv3d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve NDHWC with weights (output channel, plane, row, column, input channel)."""
    sums = Products(op, tensors)
    nest, weights, target = sums.nest, sums.weights.shape, sums.target.shape
    deep, vertical, horizontal = axes(op, sums.source.shape[1:4], weights[1:4], target[1:4])
    with nest.loops(target) as (n, oz, oy, ox, oc):
        sums.start(oc)
        with (
            deep.taps_inside(nest, "dz", oz) as (dz, iz),
            vertical.taps_inside(nest, "dy", oy) as (dy, iy),
            horizontal.taps_inside(nest, "dx", ox) as (dx, ix),
            nest.loop("ic", weights[4]) as ic,
        ):
            sums.add(sums.x[n, iz, iy, ix, ic], sums.w[oc, dz, dy, dx, ic])
        sums.finish((n, oz, oy, ox, oc))
    return nest.kernel()


@operator("TOSA_DEPTHWISE_CONV2D", dtypes=FLOATS, ulp=LIBRARY_ULP)
@operator("TOSA_DEPTHWISE_CONV2D", dtypes=INTEGERS)
def depthwise_conv2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convolve each channel separately, with weights (row, column, channel, multiplier)."""
    sums = Products(op, tensors)
    nest, weights, target = sums.nest, sums.weights.shape, sums.target.shape
    vertical, horizontal = axes(op, sums.source.shape[1:3], weights[:2], target[1:3])
    with nest.loops(target) as (n, oy, ox, oc):
        ic = tirx.truncdiv(oc, weights[3]) if weights[3] > 1 else oc
        rest = tirx.truncmod(oc, weights[3]) if weights[3] > 1 else 0
        sums.start(oc)
        with (
            vertical.taps_inside(nest, "dy", oy) as (dy, iy),
            horizontal.taps_inside(nest, "dx", ox) as (dx, ix),
        ):
            sums.add(sums.x[n, iy, ix, ic], sums.w[dy, dx, ic, rest])
        sums.finish((n, oy, ox, oc))
    return nest.kernel()


@operator("TOSA_TRANSPOSE_CONV2D", dtypes=FLOATS, ulp=LIBRARY_ULP)
@operator("TOSA_TRANSPOSE_CONV2D", dtypes=INTEGERS)
def transpose_conv2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Sum, for each output, the products of all inputs whose window covers it."""
    sums = Products(op, tensors)
    nest, weights, target = sums.nest, sums.weights.shape, sums.target.shape
    source, strides, pads = sums.source.shape, op.options["stride"], op.options["out_pad"]

    def covering(axis: int, at: Any) -> tuple[Any, Any, Any]:
        """Return the first input, the number of inputs, and the reach of an output."""
        stride = strides[axis]
        reach = nest.let("reach", int32(at - pads[2 * axis]))
        first = tirx.truncdiv(tirx.max(reach + (stride - weights[axis + 1]), 0), stride)
        end = tirx.truncdiv(tirx.max(reach + stride, 0), stride)
        return first, tirx.min(end, source[axis + 1]) - first, reach

    with nest.loops(target) as (n, oy, ox, oc):
        sums.start(oc)
        (top, rows, below), (left, columns, right) = covering(0, oy), covering(1, ox)
        with (
            nest.loop("iy", rows, top) as iy,
            nest.loop("ix", columns, left) as ix,
            nest.loop("ic", weights[3]) as ic,
        ):
            taps = below - iy * strides[0], right - ix * strides[1]
            sums.add(sums.x[n, iy, ix, ic], sums.w[oc, taps[0], taps[1], ic])
        sums.finish((n, oy, ox, oc))
    return nest.kernel()


@operator("TOSA_MATMUL", dtypes=FLOATS, ulp=LIBRARY_ULP)
@operator("TOSA_MATMUL", dtypes=INTEGERS)
def matmul(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply matrices of each batch."""
    first, second, *points = (tensors[i] for i in op.inputs)
    target = tensors[op.outputs[0]]
    offsets = [point_of(point) for point in points]
    nest = Nest()
    a, b = nest.read("first_input", first), nest.read("second_input", second)
    y = nest.write("output", target)
    with nest.loops(target.shape) as (n, row, column):
        total = nest.local("total", number(0, target.dtype))
        with nest.loop("k", first.shape[2]) as k:
            product = centred(a[n, row, k], offsets[0]) * centred(b[n, k, column], offsets[1])
            nest.store(total, (0,), total[0] + cast(target.dtype, product))
        nest.store(y, (n, row, column), total[0])
    return nest.kernel()
