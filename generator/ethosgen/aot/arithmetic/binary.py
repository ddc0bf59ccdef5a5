"""Sums and products of two quantized tensors, as in TFLite's add_common.cc and mul_common.cc."""

from collections.abc import Sequence
from typing import Any

from ethosgen.aot.tir.nest import int32
from ethosgen.aot.tir.quantization import (
    Multiplier,
    quantize_multiplier,
    ratio,
    scale_of,
    zero_point_of,
)
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

ADD_SHIFT = {"int8": 20, "int16": 15}
"""Left shift of the inputs of ADD and SUB before rescaling (add_common.cc)."""


def ends(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return both inputs and the output; UnsupportedError unless they have the same dtype."""
    first, second, target = (tensors[i] for i in (*op.inputs, *op.outputs))
    if not first.dtype == second.dtype == target.dtype:
        raise UnsupportedError(
            f"its inputs and output are {first.dtype}, {second.dtype} and {target.dtype}; they "
            "must have the same type"
        )
    return first, second, target


def sum_multipliers(
    first: Tensor, second: Tensor, target: Tensor
) -> tuple[Multiplier, Multiplier, Multiplier]:
    """Return the multipliers of both inputs of a sum and of its result (add_common.cc).

    UnsupportedError for a result that TFLite would multiply by 1 or more: its kernels abort, except
    LiteRT's SUB, which shifts by a negative number.
    """
    common = 2.0 * max(scale_of(first), scale_of(second))
    factor = common / ((1 << ADD_SHIFT[target.dtype]) * scale_of(target))
    if factor >= 1.0:
        raise UnsupportedError(
            "its output scale is too small for its inputs' scales, so that no interpreter computes "
            "it; give it a larger output scale"
        )
    return (
        quantize_multiplier(scale_of(first) / common),
        quantize_multiplier(scale_of(second) / common),
        quantize_multiplier(factor),
    )


def product_multiplier(op: Operator, first: Tensor, second: Tensor, target: Tensor) -> Multiplier:
    """Return the multiplier from a product of two inputs to the output."""
    return quantize_multiplier(ratio(op, (scale_of(first), scale_of(second)), (scale_of(target),)))


def widened(x: Any, tensor: Tensor, shift: int) -> Any:
    """Return (q - zero point) << shift."""
    return (int32(x) - zero_point_of(tensor)) * (1 << shift)
