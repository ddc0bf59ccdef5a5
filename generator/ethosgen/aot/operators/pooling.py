# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Pools over NHWC: TFLite's reference_integer_ops/pooling.h."""

from collections.abc import Sequence

from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, operator
from ethosgen.aot.operators.quantization import activation_range, clamp
from ethosgen.aot.operators.window import Axis, make_window
from ethosgen.model import Operator, Tensor


@operator("AVERAGE_POOL_2D", dtypes=("int8",))
def average_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Average over the part of the window inside the input, halves rounded away from zero."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    vertical, horizontal = _window(op, source, target)
    low, high = activation_range(op, target)

    @T.prim_func(private=True)
    def function(input: T.handle("int8"), output: T.handle("int8")):
        x = T.decl_buffer(source.shape, "int8", data=input)
        y = T.decl_buffer(target.shape, "int8", data=output)
        total = T.alloc_buffer((1,), "int32")
        for n, oy, ox, c in T.grid(*target.shape):
            rows = T.meta_var(vertical.inside(oy))
            columns = T.meta_var(horizontal.inside(ox))
            total[0] = 0
            for dy in T.serial(rows[0], rows[1]):
                for dx in T.serial(columns[0], columns[1]):
                    iy = T.meta_var(vertical.position(oy, dy))
                    ix = T.meta_var(horizontal.position(ox, dx))
                    total[0] += T.cast(x[n, iy, ix, c], "int32")
            count = T.meta_var((rows[1] - rows[0]) * (columns[1] - columns[0]))
            half = T.meta_var(T.truncdiv(count, 2))
            nudge = T.meta_var(T.Select(total[0] > 0, half, 0 - half))
            average: T.let[T.int32] = T.truncdiv(total[0] + nudge, count)
            y[n, oy, ox, c] = T.cast(clamp(average, low, high), "int8")

    return Kernel(function, (source.index,))


@operator("MAX_POOL_2D", dtypes=("int8",))
def max_pool_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Greatest value of the part of the window inside the input."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    vertical, horizontal = _window(op, source, target)
    low, high = activation_range(op, target)

    @T.prim_func(private=True)
    def function(input: T.handle("int8"), output: T.handle("int8")):
        x = T.decl_buffer(source.shape, "int8", data=input)
        y = T.decl_buffer(target.shape, "int8", data=output)
        greatest = T.alloc_buffer((1,), "int32")
        for n, oy, ox, c in T.grid(*target.shape):
            rows = T.meta_var(vertical.inside(oy))
            columns = T.meta_var(horizontal.inside(ox))
            greatest[0] = -128
            for dy in T.serial(rows[0], rows[1]):
                for dx in T.serial(columns[0], columns[1]):
                    iy = T.meta_var(vertical.position(oy, dy))
                    ix = T.meta_var(horizontal.position(ox, dx))
                    greatest[0] = T.max(greatest[0], T.cast(x[n, iy, ix, c], "int32"))
            y[n, oy, ox, c] = T.cast(clamp(greatest[0], low, high), "int8")

    return Kernel(function, (source.index,))


def _window(op: Operator, source: Tensor, target: Tensor) -> tuple[Axis, Axis]:
    taps = int(op.options["filter_height"]), int(op.options["filter_width"])
    return make_window(op, taps, source, target)
