# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Two tensors to one, element by element, with broadcasting: TFLite's integer_ops/add.h."""

from collections.abc import Sequence
from typing import Any

from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, operator
from ethosgen.aot.operators.quantization import (
    activation_range,
    clamp,
    divide,
    multiply,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.errors import UnsupportedError
from ethosgen.model import Operator, Tensor

ADD_SHIFT = 20
"""Bits by which int8 ADD widens its inputs before it rescales them (add_common.cc)."""


@operator("ADD", dtypes=("int8",))
def add(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Rescale both inputs to twice the larger scale, add, rescale the sum."""
    first, second, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    if second.dtype != "int8" or target.dtype != "int8":
        raise UnsupportedError("only int8 inputs and output are covered")
    common = 2 * max(scale_of(first), scale_of(second))
    first_multiplier = quantize_multiplier(scale_of(first) / common)
    second_multiplier = quantize_multiplier(scale_of(second) / common)
    multiplier = quantize_multiplier(common / ((1 << ADD_SHIFT) * scale_of(target)))
    bounds = activation_range(op, target)
    first_shape, second_shape, shape = _aligned(first, second, target)

    @T.prim_func(private=True)
    def function(
        first_input: T.handle("int8"),
        second_input: T.handle("int8"),
        output: T.handle("int8"),
    ):
        a = T.decl_buffer(first_shape, "int8", data=first_input)
        b = T.decl_buffer(second_shape, "int8", data=second_input)
        y = T.decl_buffer(shape, "int8", data=output)
        for i in T.grid(*shape):
            left = T.meta_var(_widened(a, first_shape, i, zero_point_of(first)))
            right = T.meta_var(_widened(b, second_shape, i, zero_point_of(second)))
            left_product: T.let[T.int32] = multiply(left, first_multiplier)
            right_product: T.let[T.int32] = multiply(right, second_multiplier)
            total = T.meta_var(
                divide(left_product, first_multiplier) + divide(right_product, second_multiplier)
            )
            product: T.let[T.int32] = multiply(total, multiplier)
            rescaled = T.meta_var(divide(product, multiplier) + zero_point_of(target))
            y[i] = T.cast(clamp(rescaled, bounds[0], bounds[1]), "int8")

    return Kernel(function, (first.index, second.index))


def _aligned(*tensors: Tensor) -> list[tuple[int, ...]]:
    """Return the shapes with as many dimensions each, and at least one."""
    rank = max(1, *(len(tensor.shape) for tensor in tensors))
    return [(1,) * (rank - len(tensor.shape)) + tensor.shape for tensor in tensors]


def _widened(buffer: Any, shape: Sequence[int], index: Sequence[Any], zero_point: int) -> Any:
    """Return (q - zero point) << ADD_SHIFT at an index of the output."""
    place = [0 if size == 1 else i for size, i in zip(shape, index, strict=True)]
    return (T.cast(buffer[tuple(place)], "int32") - zero_point) * (1 << ADD_SHIFT)
