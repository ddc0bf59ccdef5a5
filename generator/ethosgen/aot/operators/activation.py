# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""int8 to int8, element by element: a table of 256 values, computed as TFLite computes one."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel, fixed_point, operator
from ethosgen.aot.operators.quantization import (
    Multiplier,
    apply,
    input_radius,
    limits,
    quantize,
    quantize_multiplier,
    scale_of,
    zero_point_of,
)
from ethosgen.errors import UnsupportedError
from ethosgen.model import Operator, Tensor

LOW, HIGH = limits("int8")
INTEGER_BITS = 4
"""TFLite's int8 LOGISTIC and TANH take their argument with so many integer bits."""


@operator("RELU", dtypes=("int8",))
def relu(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """max(x, 0), rescaled (micro/kernels/activations_common.cc)."""
    source, target = _ends(op, tensors)
    ratio = float(np.float32(scale_of(source)) / np.float32(scale_of(target)))
    multiplier = quantize_multiplier(ratio)
    floor = max(LOW, quantize(0.0, target))
    return _table(source, target, _rescale(source, target, multiplier, floor))


@operator("RELU6", dtypes=("int8",))
def relu6(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """min(max(x, 0), 6) in the input's quantization; TFLite Micro does not look at the output's."""
    source, target = _ends(op, tensors)
    zero, six = zero_point_of(source), min(max(quantize(6.0, source), LOW), HIGH)
    return _table(source, target, lambda q: min(max(q, zero), six))


@operator("QUANTIZE", dtypes=("int8",))
def requantize(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Change scale and zero point (reference/requantize.h)."""
    source, target = _ends(op, tensors)
    multiplier = quantize_multiplier(scale_of(source) / scale_of(target))
    return _table(source, target, _rescale(source, target, multiplier, LOW))


@operator("LOGISTIC", dtypes=("int8",))
def logistic(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """1 / (1 + exp(-x)) in fixed point (integer_ops/logistic.h); the output's scale is 1/256."""
    source, target = _ends(op, tensors)
    return _table(source, target, _curve(source, fixed_point.logistic, 23, LOW))


@operator("TANH", dtypes=("int8",))
def tanh(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """tanh(x) in fixed point (integer_ops/tanh.h); the output's scale is 1/128."""
    source, target = _ends(op, tensors)
    return _table(source, target, _curve(source, fixed_point.tanh, 24, 0))


def _ends(op: Operator, tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if target.dtype != "int8":
        raise UnsupportedError(f"it turns int8 into {target.dtype}; only int8 is covered")
    return source, target


def _rescale(
    source: Tensor, target: Tensor, multiplier: Multiplier, floor: int
) -> Callable[[int], int]:
    before, after = zero_point_of(source), zero_point_of(target)
    return lambda q: min(max(apply(multiplier, q - before) + after, floor), HIGH)


def _curve(
    source: Tensor, function: Callable[[int, int], int], exponent: int, zero_point: int
) -> Callable[[int], int]:
    """Return `function` in fixed point, over 2**exponent, plus zero point, as a function of q."""
    fraction, shift = math.frexp(scale_of(source) * (1 << (31 - INTEGER_BITS)))
    multiplier = Multiplier(math.floor(fraction * (1 << 31) + 0.5), shift)
    radius = input_radius(INTEGER_BITS, shift)

    def curve(q: int) -> int:
        centred = q - zero_point_of(source)
        if abs(centred) >= radius:
            return LOW if centred < 0 else HIGH
        value = function(apply(multiplier, centred), INTEGER_BITS)
        return min(max(fixed_point.divide_by_power(value, exponent) + zero_point, LOW), HIGH)

    return curve


def _table(source: Tensor, target: Tensor, function: Callable[[int], int]) -> Kernel:
    values = np.array([function(q) for q in range(LOW, HIGH + 1)], np.int8)
    elements = target.elements

    @T.prim_func(private=True)
    def kernel(input: T.handle("int8"), table: T.handle("int8"), output: T.handle("int8")):
        x = T.decl_buffer((elements,), "int8", data=input)
        t = T.decl_buffer((256,), "int8", data=table)
        y = T.decl_buffer((elements,), "int8", data=output)
        for i in T.serial(elements):
            y[i] = t[T.cast(x[i], "int32") + 128]

    return Kernel(kernel, (source.index,), (values,))
