# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""SOFTMAX over the last dimension, in fixed point: TFLite's reference/softmax.h."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, fixed_point, operator
from ethosgen.aot.operators.quantization import (
    clamp,
    input_radius,
    quantize_multiplier,
    rounding_divide_by_pot,
    scale_of,
)
from ethosgen.aot.operators.quantization import (
    saturating_rounding_doubling_high_mul as _multiply,
)
from ethosgen.errors import UnsupportedError
from ethosgen.model import Operator, Tensor

DIFFERENCE_BITS = 5
"""Integer bits of a difference from the row's maximum, the argument of exp."""
SUM_BITS = 12
"""Integer bits of a row's sum of exponentials."""


@operator("SOFTMAX", dtypes=("int8",))
def softmax(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up exp(x - max) in a table, sum, and multiply by the sum's reciprocal.

    The sum is shifted left until it is 1/2 to 1; that is the "half denominator" of gemmlowp's
    one_over_one_plus_x_for_x_in_0_1, whose inverse three steps of Newton's method find.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype != "int8":
        raise UnsupportedError(f"it turns int8 into {target.dtype}; only int8 is covered")
    depth = source.shape[-1]
    rows = source.elements // depth
    table = _exponentials(float(op.options.get("beta", 1.0)), scale_of(source))

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"), exponentials: T.handle("int32"), output: T.handle("int8")
    ):
        x = T.decl_buffer((rows, depth), "int8", data=input)
        e = T.decl_buffer((256,), "int32", data=exponentials)
        y = T.decl_buffer((rows, depth), "int8", data=output)
        greatest = T.alloc_buffer((1,), "int32")
        total = T.alloc_buffer((1,), "int32")
        zeros = T.alloc_buffer((1,), "int32")
        inverse = T.alloc_buffer((1,), "int32")
        error = T.alloc_buffer((1,), "int32")
        for r in T.serial(rows):
            greatest[0] = -128
            for c in T.serial(depth):
                greatest[0] = T.max(greatest[0], T.cast(x[r, c], "int32"))
            total[0] = 0
            for c in T.serial(depth):
                term: T.let[T.int32] = e[greatest[0] - T.cast(x[r, c], "int32")]
                total[0] += rounding_divide_by_pot(term, SUM_BITS)
            zeros[0] = 1
            for step in T.serial(5):
                bits = T.meta_var(T.int32(16) >> step)
                if total[0] < (T.int32(1) << (31 - bits)):
                    total[0] = total[0] << bits
                    zeros[0] += bits
            inverse[0] = _first_guess(total[0])
            for _ in T.serial(3):
                error[0] = T.int32(1 << 29) - _multiply(total[0], inverse[0])
                error[0] = _multiply(inverse[0], error[0])
                inverse[0] += _times_power(error[0], 2)
            inverse[0] = _times_power(inverse[0], 1)
            for c in T.serial(depth):
                exponential = T.meta_var(e[greatest[0] - T.cast(x[r, c], "int32")])
                share: T.let[T.int32] = _multiply(inverse[0], exponential)
                scaled = T.meta_var(rounding_divide_by_pot(share, _exponent(zeros[0])))
                y[r, c] = T.cast(clamp(scaled - 128, -128, 127), "int8")

    return Kernel(function, (source.index,), (table,))


def _exponentials(beta: float, scale: float) -> np.ndarray[Any, Any]:
    """Return exp(-d) for each distance d from the maximum; 0 where TFLite leaves a term out."""
    real = min(beta * scale * (1 << (31 - DIFFERENCE_BITS)), float(fixed_point.INT32_MAX))
    multiplier = quantize_multiplier(real)
    if multiplier.shift < 0:
        raise UnsupportedError("its input scale is too small for TFLite's integer softmax")
    radius = input_radius(DIFFERENCE_BITS, multiplier.shift)
    table = np.zeros(256, np.int32)
    for distance in range(min(radius, 255) + 1):
        argument = fixed_point.multiply(-distance << multiplier.shift, multiplier.mantissa)
        table[distance] = fixed_point.exp_of_negative(argument, DIFFERENCE_BITS)
    return table


def _exponent(zeros: Any) -> Any:
    """Return by which power of two a share of the sum is divided; TFLite promises 0 to 31.

    TVM's simplifier must know that it is not negative: it drops needed clamps otherwise.
    """
    return (SUM_BITS + 23 - zeros) & 31


def _first_guess(half: Any) -> Any:
    first, slope = fixed_point.RECIPROCAL_START
    return _multiply(half, T.int32(slope)) + first


def _times_power(x: Any, exponent: int) -> Any:
    """Return x * 2**exponent, saturated."""
    limit = (1 << (31 - exponent)) - 1
    shifted = clamp(x, -limit - 1, limit) * (1 << exponent)
    return T.Select(x > limit, T.int32(fixed_point.INT32_MAX), shifted)
