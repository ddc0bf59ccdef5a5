"""NPU_OP_ELEMENTWISE: elementwise operations on one or two operands."""

from collections.abc import Callable
from enum import IntEnum

import numpy as np

from ethosgen.backend.ethosu.isa import ElementwiseMode, IfmScaleMode, OfmScaleMode
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import Elementwise, FeatureMap, Output, Shape
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.output import finisher, scaler
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, scalar

_PRE_SHIFT = {8: 20, 16: 15, 32: 15}
"""Left shift of ADD's and SUB's operands, by bits of the IFM (Vela's ElementwiseAddSubScale)."""

_MAX_SHIFT = 63
_NO_SHIFT, _WHOLE_SHIFT = np.int64(0), np.int64(32)
_MAX_PRODUCT = 5 << 60
_MAX_PLAIN_SHIFT = 60
"""Up to this shift, a product and its rounding term stay within 63 bits."""

_Operand = Callable[[], Ints]
_Unary = Callable[[Ints], Ints]
Binary = Callable[[Ints, Ints], Ints]


def prepare(context: Context, operation: Elementwise, ofm: Placed) -> Action:
    """Return a function that executes an elementwise operation."""
    first = reader(context, operation.ifm, operation.ofm.shape)
    second = _second(context, operation)
    finish = finisher(context, operation.ofm, ofm)
    if second is None:
        unary = _unary(operation)
        return lambda: finish(unary(first()))
    binary = _binary(operation)
    if operation.ifm2_is_a:
        first, second = second, first
    a, b = first, second
    return lambda: finish(binary(a(), b()))


def reader(context: Context, fm: FeatureMap, shape: Shape) -> Callable[[], Ints]:
    """Return a function that copies an operand minus its zero point to a new array."""
    placed = Placed(context.bus, fm, context.base(fm.region), shape)
    zero_point, whole = scalar(fm.zero_point), placed.whole
    if placed.dtype == np.uint64:  # with int64, numpy would compute in floating point
        return lambda: placed.read().astype(np.int64) - zero_point
    if whole is None:
        return lambda: placed.read() - zero_point
    if not fm.zero_point:
        return lambda: whole.astype(np.int64)
    return lambda: whole - zero_point


def _second(context: Context, operation: Elementwise) -> _Operand | None:
    if operation.ifm2 is not None:
        full = operation.ofm.shape
        height, width, depth = (
            1 if repeated else extent
            for repeated, extent in zip(operation.broadcast, full, strict=True)
        )
        return reader(context, operation.ifm2, (height, width, depth))
    if operation.scalar is None:
        return None
    scalar = np.full((1, 1, 1), operation.scalar - operation.ifm2_zero_point, np.int64)
    return lambda: scalar


def _unary(operation: Elementwise) -> _Unary:
    scale = scaler(operation.ofm)
    match operation.mode:
        case ElementwiseMode.ABS:
            return lambda a: scale(np.abs(a))
        case ElementwiseMode.LRELU:
            return lambda a: np.where(a >= 0, a, scale(a))
        case _:
            return leading_zeros


def leading_zeros(a: Ints) -> Ints:
    """Count the leading zeros of 32-bit values; frexp's exponent is the position of the top bit."""
    exponent = np.frexp((a & 0xFFFFFFFF).astype(np.float64))[1]
    return 32 - exponent.astype(np.int64)


def _binary(operation: Elementwise) -> Binary:
    mode, ofm = operation.mode, operation.ofm
    if mode in (ElementwiseMode.ADD, ElementwiseMode.SUB):
        combine = np.add if mode is ElementwiseMode.ADD else np.subtract
        scale_a, scale_b, bound = _operand_scales(operation)
        scale = scaler(ofm, bound)
        return lambda a, b: scale(combine(scale_a(a), scale_b(b)))
    if mode is ElementwiseMode.MUL:
        scale = _product_scale(operation)
        return lambda a, b: scale(a * b)
    if mode is ElementwiseMode.SHR:
        return shift_right(ofm, _bounds(operation)[0])
    return SIMPLE[mode]


def _product_scale(operation: Elementwise) -> _Unary:
    """Scale a product. The 64-bit product of 32-bit operands is only shifted, not multiplied."""
    ofm, (bound_a, bound_b) = operation.ofm, _bounds(operation)
    if np.iinfo(operation.ifm.dtype).bits != 32 or ofm.scale_mode is not OfmScaleMode.GLOBAL:
        return scaler(ofm, bound_a * bound_b)
    return product_shift(ofm, bound_a * bound_b)


def product_shift(ofm: Output, bound: int) -> Rescale:
    """Return a function that only shifts products, whose magnitudes are up to `bound`."""
    fits = bound < _MAX_PRODUCT and ofm.scale.shift <= _MAX_PLAIN_SHIFT
    # Without a scale, values that fit before the shift fit after it: a bound of 0 skips the check.
    return Rescale(1, ofm.scale.shift, ofm.rounding, bound=0 if fits else None)


def _operand_scales(operation: Elementwise) -> tuple[_Unary, _Unary, int]:
    """Return a function that scales the operands of ADD and SUB, and a bound of their result.

    Either both are multiplied by 16-bit factors, or one is scaled by OPA_SCALE's 32 bits and the
    other, which has the larger scale, is shifted left to half of the full range.
    """
    bound_a, bound_b = _bounds(operation)
    scale = operation.opa_scale
    if operation.scale_mode is IfmScaleMode.OPA_OPB_16:
        factor_a, factor_b = scale.scale & 0xFFFF, operation.opb_scale
        bound = bound_a * factor_a + bound_b * factor_b
        return _times(factor_a), _times(factor_b), bound
    pre_shift = _PRE_SHIFT[np.iinfo(operation.ifm.dtype).bits]
    is_a = operation.scale_mode is IfmScaleMode.OPA_32
    of_scaled, of_shifted = (bound_a, bound_b) if is_a else (bound_b, bound_a)
    scaled = Rescale(scale.scale, scale.shift, operation.rounding, pre_shift, of_scaled)
    shifted = _times(1 << pre_shift - 1)
    bound = (of_scaled * scale.scale >> scale.shift) + 2 + (of_shifted << pre_shift - 1)
    return (scaled, shifted, bound) if is_a else (shifted, scaled, bound)


def _bounds(operation: Elementwise) -> tuple[int, int]:
    """Return the largest magnitudes of both operands after subtracting their zero points."""
    first = largest(operation.ifm.dtype, operation.ifm.zero_point)
    if operation.ifm2 is None:
        second = abs((operation.scalar or 0) - operation.ifm2_zero_point)
    else:
        second = largest(operation.ifm2.dtype, operation.ifm2.zero_point)
    return (second, first) if operation.ifm2_is_a else (first, second)


def largest(dtype: str, zero_point: int) -> int:
    """Return the largest magnitude of a type's values minus a zero point."""
    info = np.iinfo(dtype)
    return max(abs(int(info.max) - zero_point), abs(int(info.min) - zero_point))


def _times(factor: int) -> _Unary:
    if factor == 1:
        return lambda values: values
    factors = scalar(factor)
    return lambda values: values * factors


def shift_right(ofm: Output, bound: int | None = None) -> Binary:
    """Return a function that shifts right and rounds; the result has the OFM's shape.

    `bound` is the largest magnitude of the values, if known.
    """

    latest: tuple[int, Rescale] | None = None
    """The last amount for all values, and what shifts by it: amounts of softmax rarely change."""

    def shift(a: Ints, b: Ints) -> Ints:
        nonlocal latest
        values = np.broadcast_to(a, ofm.shape)
        if b.size > 1:
            amounts = np.minimum(np.maximum(b, 0), _MAX_SHIFT)
            return Rescale(1, amounts, ofm.rounding, bound=bound)(values)
        amount = min(max(b.item(), 0), _MAX_SHIFT)
        if latest is None or latest[0] != amount:
            latest = amount, Rescale(1, amount, ofm.rounding, bound=bound)
        return latest[1](values)

    return shift


def shift_left(a: Ints, b: Ints) -> Ints:
    """Shift left within 32 bits, discarding higher bits."""
    shifted = a << np.minimum(np.maximum(b, _NO_SHIFT), _WHOLE_SHIFT)
    return (shifted + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


SIMPLE: dict[IntEnum, Binary] = {
    ElementwiseMode.MIN: np.minimum,
    ElementwiseMode.MAX: np.maximum,
    ElementwiseMode.SHL: shift_left,
}
"""Operations that scale nothing before the output stage."""
