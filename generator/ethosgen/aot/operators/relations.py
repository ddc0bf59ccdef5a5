"""Comparisons (EQUAL, GREATER, …) and logical operators, whose outputs are bool."""

from collections.abc import Sequence
from typing import Any

from ethosgen.aot.arithmetic.binary import widened
from ethosgen.aot.operators import operator
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, pointwise
from ethosgen.aot.tir.quantization import quantize_multiplier, scale_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Operator, Tensor

COMPARISON_SHIFT = 8
"""Left shift of quantized inputs before rescaling (comparisons.cc)."""

RELATIONS = {
    "EQUAL": "EQ",
    "NOT_EQUAL": "NE",
    "GREATER": "GT",
    "GREATER_EQUAL": "GE",
    "LESS": "LT",
    "LESS_EQUAL": "LE",
}
"""The expressions of TIR, by their names in tirx."""
ORDER = ("GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


def _inputs(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    first, second = (tensors[i] for i in op.inputs)
    if first.dtype != second.dtype:
        raise UnsupportedError(f"its inputs are {first.dtype} and {second.dtype}, not of one type")
    return first, second


@operator("EQUAL", "NOT_EQUAL", *ORDER, dtypes=("int32", "int64", "float32"))
@operator("EQUAL", "NOT_EQUAL", dtypes=("bool",))
def compare(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compare stored values."""
    relation = getattr(tirx, RELATIONS[op.code])

    def formula(_: Nest, a: Any, b: Any) -> Any:
        if tensors[op.inputs[0]].dtype == "bool":
            a, b = tirx.Cast("int32", a), tirx.Cast("int32", b)
        return relation(a, b)

    return pointwise(_inputs(op, tensors), tensors[op.outputs[0]], formula)


@operator("EQUAL", "NOT_EQUAL", *ORDER, dtypes=("int8",))
def compare_quantized(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compare the values that the inputs represent, in fixed point."""
    sources = _inputs(op, tensors)
    if any(scale_of(source) >= 1.0 for source in sources):
        raise UnsupportedError(
            "an input has a scale of 1 or more, so that no interpreter computes it: TFLite Micro "
            "aborts, LiteRT shifts by a negative number; give it a smaller scale"
        )
    multipliers = [quantize_multiplier(scale_of(source)) for source in sources]

    def formula(nest: Nest, *values: Any) -> Any:
        scaled = [
            nest.let("scaled", nest.rescale(widened(value, source, COMPARISON_SHIFT), multiplier))
            for value, source, multiplier in zip(values, sources, multipliers, strict=True)
        ]
        return getattr(tirx, RELATIONS[op.code])(*scaled)

    return pointwise(sources, tensors[op.outputs[0]], formula)


@operator("EQUAL", "NOT_EQUAL", dtypes=("int16",), litert=True)
def equal_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compare the represented values if the first input is quantized, else the stored ones.

    The fixed-point values of a small scale are coarse: at 1.3e-5, 2274 equals 2452.
    """
    first, _ = _inputs(op, tensors)
    if first.quantization is not None:
        return compare_quantized(op, tensors)
    if op.code == "NOT_EQUAL":
        raise UnsupportedError(
            "its first input has no quantization: LiteRT leaves its result unset"
        )
    return compare(op, tensors)


@operator(*ORDER, dtypes=("int16",), litert=True)
def order_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compare stored values, as LiteRT does in int16 for any scales.

    TFLite Micro has int16 only for GREATER, with uninitialized multipliers.
    """
    return compare(op, tensors)


@operator("LOGICAL_AND", "LOGICAL_OR", dtypes=("bool",), in_place=True)
def logical(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute a && b or a || b."""
    combine = tirx.all if op.code == "LOGICAL_AND" else tirx.any

    def formula(_: Nest, a: Any, b: Any) -> Any:
        return combine(a, b)

    return pointwise(_inputs(op, tensors), tensors[op.outputs[0]], formula)


@operator("LOGICAL_NOT", dtypes=("bool",), in_place=True)
def logical_not(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Not a."""

    def formula(_: Nest, a: Any) -> Any:
        return tirx.Not(a)

    return pointwise([tensors[op.inputs[0]]], tensors[op.outputs[0]], formula)
