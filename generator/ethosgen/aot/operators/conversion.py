"""Conversions between number types: QUANTIZE, DEQUANTIZE, CAST."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.aot.arithmetic.table import byte_table
from ethosgen.aot.cost import from_float, per_element
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, call, int32, limited, number, pointwise, real
from ethosgen.aot.tir.quantization import (
    apply,
    clamp,
    limits,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

REQUANTIZED = {
    "int8": ("int8", "uint8", "int16", "int32"),
    "uint8": ("int8", "uint8"),
    "int16": ("int8", "int16", "int32"),
    "int32": ("int8", "int16"),
    "float32": ("int8", "uint8", "int16"),
}
"""QUANTIZE's output types by input type (micro/kernels/quantize_common.cc; lite/kernels/quantize.cc
for uint8 outputs)."""

CAST_TARGETS = ("int8", "int16", "int32", "uint32", "float32", "bool", "int64", "uint8")


def _ends(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    allowed = CAST_TARGETS if op.code == "CAST" else REQUANTIZED[source.dtype]
    if target.dtype not in allowed:
        raise UnsupportedError(
            f"it converts {source.dtype} to {target.dtype}; only {', '.join(allowed)} are covered"
        )
    return source, target


QUANTIZED = from_float(16.0, per_element(0.25))


@operator("QUANTIZE", dtypes=("int8", "uint8", "int16", "int32"), cycles=QUANTIZED)
def requantize(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Change type, scale and zero point (reference/requantize.h)."""
    source, target = _ends(op, tensors)
    if is_flip(source, target):
        return pointwise([source], target, lambda _, a: int32(a) - _offset(source, target))
    multiplier = quantize_multiplier(scale_of(source) / scale_of(target))
    before, after = zero_point_of(source), zero_point_of(target)
    if np.dtype(source.dtype).itemsize == np.dtype(target.dtype).itemsize == 1:
        return byte_table(source, target, lambda q: apply(multiplier, q - before, after))

    def formula(nest: Nest, a: Any) -> Any:
        scaled = nest.rescale(nest.let("centred", int32(a) - before), multiplier, after)
        return scaled if target.dtype == "int32" else clamp(scaled, *limits(target.dtype))

    return pointwise([source], target, formula)


def is_flip(source: Tensor, target: Tensor) -> bool:
    """Return whether a QUANTIZE only flips the sign bit between int8 and uint8."""
    if {source.dtype, target.dtype} != {"int8", "uint8"}:
        return False
    if source.quantization is None and target.quantization is None:
        return True
    same = scale_of(source) == scale_of(target)
    return same and zero_point_of(source) - zero_point_of(target) == _offset(source, target)


def _offset(source: Tensor, target: Tensor) -> int:
    return 128 if source.dtype == "uint8" else -128


@operator("QUANTIZE", dtypes=("float32",), in_place=True)
def quantize(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute round(x / scale) + zero point, saturated; ties round away from zero (quantize.h)."""
    source, target = _ends(op, tensors)
    scale, point = real(scale_of(target)), zero_point_of(target)
    low, high = (real(float(bound - point)) for bound in limits(target.dtype))

    def formula(nest: Nest, a: Any) -> Any:
        rounded = nest.let("rounded", call("roundf", tirx.div(a, scale)))
        return tirx.Cast("int32", limited(rounded, low, high)) + point

    return pointwise([source], target, formula)


@operator(
    "DEQUANTIZE",
    dtypes=("int8", "uint8", "int16"),
    cycles=per_element(7.0, moves=True),
    in_place=True,
)
def dequantize(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute scale (q - zero point).

    TFLite multiplies in double precision and rounds; a single-precision product is the same.
    """
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype != "float32":
        raise UnsupportedError(f"it converts {source.dtype} to {target.dtype}")
    scale, point = real(scale_of(source)), zero_point_of(source)
    return pointwise([source], target, lambda _, a: scale * tirx.Cast("float32", int32(a) - point))


@operator("CAST", dtypes=("int8", "int16", "int32", "uint32", "float32", "bool"))
@operator("CAST", dtypes=("int64", "uint8"), litert=True)
def cast(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convert as C does; out-of-range values are undefined, as in TFLite."""
    source, target = _ends(op, tensors)
    if target.dtype == "bool" != source.dtype:
        zero = number(0, source.dtype)
        return pointwise([source], target, lambda _, a: tirx.NE(a, zero))
    return pointwise([source], target, lambda _, a: a)
