"""NPU_OP_ELEMENTWISE: one or two operands, element by element."""

from collections.abc import Callable

import numpy as np

from ethosgen.npu import feature_map
from ethosgen.npu.isa import ElementwiseMode, IfmScaleMode, OfmScaleMode
from ethosgen.npu.operation import Elementwise, FeatureMap, Shape
from ethosgen.npu.ops.context import Context
from ethosgen.npu.ops.output import finish, scale_globally
from ethosgen.npu.scaling import Ints, rescale

_PRE_SHIFT = {8: 20, 16: 15, 32: 15}
"""Left shift of ADD's and SUB's operands, by bits of the IFM (Vela's ElementwiseAddSubScale)."""

_MAX_SHIFT = 63


def run(context: Context, operation: Elementwise) -> int:
    """Carry out an elementwise operation; returns its number of elements."""
    shape = operation.ofm.shape
    a = _operand(context, operation.ifm, shape)
    b = _second(context, operation)
    if b is not None and operation.ifm2_is_a:
        a, b = b, a
    result = _unary(operation, a) if b is None else _binary(operation, a, b)
    if result.shape != shape:
        result = np.broadcast_to(result, shape)
    finish(context, operation.ofm, result)
    return shape[0] * shape[1] * shape[2]


def _operand(context: Context, fm: FeatureMap, shape: Shape) -> Ints:
    values = feature_map.read(context.bus, fm, context.base(fm.region), shape)
    return values.astype(np.int64) - fm.zero_point


def _second(context: Context, operation: Elementwise) -> Ints | None:
    if operation.ifm2 is not None:
        full = operation.ofm.shape
        height, width, depth = (
            1 if repeated else extent
            for repeated, extent in zip(operation.broadcast, full, strict=True)
        )
        return _operand(context, operation.ifm2, (height, width, depth))
    if operation.scalar is None:
        return None
    return np.full((1, 1, 1), operation.scalar - operation.ifm2_zero_point, np.int64)


def _unary(operation: Elementwise, a: Ints) -> Ints:
    match operation.mode:
        case ElementwiseMode.ABS:
            return scale_globally(np.abs(a), operation.ofm)
        case ElementwiseMode.LRELU:
            return np.where(a >= 0, a, scale_globally(a, operation.ofm))
        case _:
            return _leading_zeros(a)


def _leading_zeros(a: Ints) -> Ints:
    """Count the leading zeros of 32-bit values; frexp's exponent is the position of the top bit."""
    exponent = np.frexp((a & 0xFFFFFFFF).astype(np.float64))[1]
    return 32 - exponent.astype(np.int64)


def _binary(operation: Elementwise, a: Ints, b: Ints) -> Ints:
    mode, ofm = operation.mode, operation.ofm
    if mode in (ElementwiseMode.ADD, ElementwiseMode.SUB):
        a, b = _scale_operands(operation, a, b)
        return scale_globally(a + b if mode is ElementwiseMode.ADD else a - b, ofm)
    if mode is ElementwiseMode.MUL:
        return _scale_product(operation, a * b)
    if mode is ElementwiseMode.SHR:
        return rescale(np.broadcast_to(a, ofm.shape), 1, _shift_amount(b), ofm.rounding)
    return _SIMPLE[mode](a, b)


def _scale_product(operation: Elementwise, product: Ints) -> Ints:
    """Scale a product. The 64-bit product of 32-bit operands is only shifted, not multiplied."""
    ofm = operation.ofm
    if np.iinfo(operation.ifm.dtype).bits != 32 or ofm.scale_mode is not OfmScaleMode.GLOBAL:
        return scale_globally(product, ofm)
    return rescale(product, 1, ofm.scale.shift, ofm.rounding)


def _scale_operands(operation: Elementwise, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Scale the operands of ADD and SUB.

    Either both are multiplied by 16-bit factors, or one is scaled by OPA_SCALE's 32 bits and the
    other, which has the larger scale, is shifted left so that it counts half of the full range.
    """
    if operation.scale_mode is IfmScaleMode.OPA_OPB_16:
        return a * (operation.opa_scale.scale & 0xFFFF), b * operation.opb_scale
    pre_shift = _PRE_SHIFT[np.iinfo(operation.ifm.dtype).bits]
    scale = operation.opa_scale
    if operation.scale_mode is IfmScaleMode.OPA_32:
        scaled = rescale(a, scale.scale, scale.shift, operation.rounding, pre_shift)
        return scaled, b << pre_shift - 1
    scaled = rescale(b, scale.scale, scale.shift, operation.rounding, pre_shift)
    return a << pre_shift - 1, scaled


def _shift_amount(b: Ints) -> Ints:
    return np.clip(b, 0, _MAX_SHIFT)


def _shift_left(a: Ints, b: Ints) -> Ints:
    """Shift left within 32 bits; what is shifted out is lost."""
    shifted = a << np.clip(b, 0, 32)
    return (shifted + (1 << 31) & 0xFFFFFFFF) - (1 << 31)


_SIMPLE: dict[ElementwiseMode, Callable[[Ints, Ints], Ints]] = {
    ElementwiseMode.MIN: np.minimum,
    ElementwiseMode.MAX: np.maximum,
    ElementwiseMode.SHL: _shift_left,
}
