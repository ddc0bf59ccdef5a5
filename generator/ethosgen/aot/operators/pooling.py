# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Pools over NHWC: TFLite's reference_integer_ops/pooling.h."""

from collections.abc import Sequence

from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, operator
from ethosgen.aot.operators.quantization import activation_range, clamp
from ethosgen.aot.operators.window import Window, make_window
from ethosgen.model import Operator, Tensor


@operator("AVERAGE_POOL_2D", dtypes=("int8",))
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Average over the part of the window inside the input, halves rounded away from zero."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    window = _window(op, source, target)
    (height, width), (stride_y, stride_x), (pad_y, pad_x) = (
        window.size,
        window.stride,
        window.padding,
    )
    rows, columns = source.shape[1:3]
    low, high = activation_range(op, target)

    @T.prim_func(private=True)
    def function(x_data: T.handle("int8"), y_data: T.handle("int8")):
        x = T.decl_buffer(source.shape, "int8", data=x_data)
        y = T.decl_buffer(target.shape, "int8", data=y_data)
        total = T.alloc_buffer((1,), "int32")
        count = T.alloc_buffer((1,), "int32")
        for n, oy, ox, c in T.grid(*target.shape):
            total[0] = 0
            count[0] = 0
            for dy, dx in T.grid(height, width):
                iy: T.let[T.int32] = oy * stride_y + dy - pad_y
                ix: T.let[T.int32] = ox * stride_x + dx - pad_x
                if iy >= 0 and iy < rows and ix >= 0 and ix < columns:
                    total[0] += T.cast(x[n, iy, ix, c], "int32")
                    count[0] += 1
            half: T.let[T.int32] = T.truncdiv(count[0], 2)
            nudged: T.let[T.int32] = total[0] + T.Select(total[0] > 0, half, 0 - half)
            average: T.let[T.int32] = T.truncdiv(nudged, count[0])
            y[n, oy, ox, c] = T.cast(clamp(average, low, high), "int8")

    return Kernel(function, (source.index,))


@operator("MAX_POOL_2D", dtypes=("int8",))
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Greatest value of the part of the window inside the input."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    window = _window(op, source, target)
    (height, width), (stride_y, stride_x), (pad_y, pad_x) = (
        window.size,
        window.stride,
        window.padding,
    )
    rows, columns = source.shape[1:3]
    low, high = activation_range(op, target)

    @T.prim_func(private=True)
    def function(x_data: T.handle("int8"), y_data: T.handle("int8")):
        x = T.decl_buffer(source.shape, "int8", data=x_data)
        y = T.decl_buffer(target.shape, "int8", data=y_data)
        greatest = T.alloc_buffer((1,), "int32")
        for n, oy, ox, c in T.grid(*target.shape):
            greatest[0] = -128
            for dy, dx in T.grid(height, width):
                iy: T.let[T.int32] = oy * stride_y + dy - pad_y
                ix: T.let[T.int32] = ox * stride_x + dx - pad_x
                if iy >= 0 and iy < rows and ix >= 0 and ix < columns:
                    greatest[0] = T.max(greatest[0], T.cast(x[n, iy, ix, c], "int32"))
            y[n, oy, ox, c] = T.cast(clamp(greatest[0], low, high), "int8")

    return Kernel(function, (source.index,))


def _window(op: Operator, source: Tensor, target: Tensor) -> Window:
    size = int(op.options["filter_height"]), int(op.options["filter_width"])
    return make_window(op, size, source, target)
