"""NPU_OP_ELEMENTWISE on U85: both operands are scaled, combined, and the result is scaled."""

from collections.abc import Callable
from enum import IntEnum

import numpy as np

from ethosgen.backend.ethosu.isa import ElementwiseMode
from ethosgen.backend.ethosu.isa_u85 import U85BroadcastMode, U85ElementwiseMode
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import FeatureMap, Scale
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.elementwise import (
    SIMPLE,
    Binary,
    largest,
    leading_zeros,
    product_shift,
    reader,
    shift_right,
)
from ethosgen.backend.ethosu.simulator.ops.output import OutputTarget, finisher, scaler
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale, scalar
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Chained,
    ScalarOperand,
    Scaled,
    U85Elementwise,
)
from ethosgen.values.errors import NpuFault

_LIMIT = 1 << 31
_BYTE_BITS = 8

_Read = Callable[[], Ints]
_Unary = Callable[[Ints], Ints]

_UNSCALED = (
    ElementwiseMode.SHR,
    ElementwiseMode.SHL,
    U85ElementwiseMode.LSR,
    U85ElementwiseMode.DIV,
)
"""Operations whose result Regor never scales."""


def prepare(context: Context, operation: U85Elementwise, ofm: OutputTarget) -> Action:
    """Return a function that executes an elementwise operation."""
    finish = finisher(context, operation.ofm, ofm)
    scale = _result_scale(operation)
    first = _reader(context, operation, operation.first)
    if operation.second is None:
        unary = _unary(operation)
        return lambda: finish(scale(unary(first())))
    second = _reader(context, operation, operation.second)
    binary = _binary(operation)
    return lambda: finish(scale(binary(first(), second())))


def _is_unit(scale: Scale) -> bool:
    return scale.scale == 1 << scale.shift


def _result_scale(operation: U85Elementwise) -> _Unary:
    """Return a function that scales results; products of 32-bit operands are only shifted."""
    ofm, second = operation.ofm, operation.second
    if operation.mode is ElementwiseMode.MUL and operation.first.operand.dtype[-1] == "4":
        assert second is not None
        return product_shift(ofm, _largest(operation.first) * _largest(second))
    if operation.mode in _UNSCALED:
        if not _is_unit(ofm.scale):
            raise NpuFault("parse", f"{operation.mode.name} with OFM_SCALE is not modelled")
        return lambda values: values
    return scaler(ofm, _result_bound(operation))


def _largest(scaled: Scaled) -> int:
    return largest(scaled.operand.dtype, scaled.operand.zero_point)


def _result_bound(operation: U85Elementwise) -> int | None:
    """Return an upper bound of the unscaled result's magnitude, None if it is not known."""
    if operation.mode not in (ElementwiseMode.ADD, ElementwiseMode.SUB, ElementwiseMode.MUL):
        return None
    assert operation.second is not None
    first, second = (_scaled_bound(operand) for operand in (operation.first, operation.second))
    return first * second if operation.mode is ElementwiseMode.MUL else first + second


def _bound(scaled: Scaled) -> int:
    """Return an upper bound of an operand's magnitude; a constant can exceed its type."""
    operand = scaled.operand
    if isinstance(operand, ScalarOperand):
        return abs(operand.value - operand.zero_point)
    return _largest(scaled)


def _scaled_bound(scaled: Scaled) -> int:
    scale = scaled.scale
    if _is_unit(scale):
        return _bound(scaled)
    return (_bound(scaled) * scale.scale >> scale.shift) + 1


def _reader(context: Context, operation: U85Elementwise, scaled: Scaled) -> _Read:
    """Return a function that reads an operand minus its zero point, scaled."""
    raw = _raw(context, operation, scaled)
    if operation.mode is ElementwiseMode.LRELU or _is_unit(scaled.scale):
        return raw
    if operation.mode in (ElementwiseMode.MUL, U85ElementwiseMode.DIV):
        raise NpuFault("parse", f"{operation.mode.name} with scaled operands is not modelled")
    scale = _rescale(scaled, scaled.scale)
    if isinstance(scaled.operand, FeatureMap) and scaled.operand.dtype[-1] == "1":
        return _looked_up(context, operation, scaled, scaled.operand, scale)
    return lambda: scale(raw())


def _looked_up(
    context: Context, operation: U85Elementwise, scaled: Scaled, fm: FeatureMap, scale: Rescale
) -> _Read:
    """Return the same for 8 bits, by a table of all scaled values: one pass instead of five."""
    values = np.arange(1 << _BYTE_BITS, dtype=np.uint8).view(fm.dtype)
    table = scale(values - scalar(fm.zero_point))
    shape = scaled.shape(operation.ofm.shape)
    placed = Placed(context.bus, fm, context.base(fm.region), shape)
    return lambda: table.take(placed.read().view(np.uint8))


def _rescale(scaled: Scaled, scale: Scale) -> Rescale:
    return Rescale(scale.scale, scale.shift, scaled.rounding, scaled.double_round, _bound(scaled))


def _raw(context: Context, operation: U85Elementwise, scaled: Scaled) -> _Read:
    operand, shape = scaled.operand, scaled.shape(operation.ofm.shape)
    zero_point = operand.zero_point
    if isinstance(operand, ScalarOperand):
        if scaled.broadcast is not U85BroadcastMode.SCALAR:
            raise NpuFault("parse", "an operand that is not in memory must be a scalar")
        constant = np.full((1, 1, 1), operand.value - zero_point, np.int64)
        return lambda: constant
    if isinstance(operand, Chained):
        buffers, number = context.inner.buffers, operand.buffer

        def read() -> Ints:
            buffered = buffers.get(number)
            if buffered is None or buffered.shape != shape:
                raise NpuFault("parse", f"chaining buffer {number} has no operand of this shape")
            return buffered - zero_point

        return read
    return reader(context, operand, shape)


def _unary(operation: U85Elementwise) -> _Unary:
    match operation.mode:
        case ElementwiseMode.ABS:
            return np.abs
        case ElementwiseMode.CLZ:
            return leading_zeros
        case U85ElementwiseMode.NOT:
            return np.invert
    positive = _rescale(operation.first, operation.first.scale)
    negative = _rescale(operation.first, operation.negative)
    return lambda a: np.where(a >= 0, positive(a), negative(a))


def _binary(operation: U85Elementwise) -> Binary:
    if operation.mode is ElementwiseMode.SHR:
        return shift_right(operation.ofm, _scaled_bound(operation.first))
    if operation.mode is U85ElementwiseMode.LSR:
        return _logical_shift(is_whole=operation.first.operand.dtype[-1] == "4")
    return _BINARY[operation.mode]


def _logical_shift(*, is_whole: bool) -> Binary:
    """Return a function that shifts right, with zeros from the left.

    The sources do not say whether a negative operand of 8 or 16 bits gets zeros from the 8th, the
    16th or the 32nd bit, so it faults.
    """

    def shift(a: Ints, b: Ints) -> Ints:
        if not is_whole and (a < 0).any():
            raise NpuFault(
                "parse", "LSR of a negative operand of less than 32 bits is not modelled"
            )
        result: Ints = (a & 0xFFFFFFFF) >> np.clip(b, 0, 32)
        return result

    return shift


def _divide(a: Ints, b: Ints) -> Ints:
    """Divide towards zero; NpuFault where the sources do not define the result.

    They do not for a divisor of 0, and for a quotient that exceeds 32 bits: -2**31 divided by -1.
    """
    if not b.all():
        raise NpuFault("parse", "a division by 0 is not modelled")
    if ((a == -_LIMIT) & (b == -1)).any():
        raise NpuFault("parse", "a quotient of 2**31 is not modelled")
    quotient: Ints = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return quotient


# True is -1 in the NPU: Regor converts the ends of networks (ConvertBool8Tensors).
_BINARY: dict[IntEnum, Binary] = {
    **SIMPLE,
    ElementwiseMode.MUL: np.multiply,
    ElementwiseMode.ADD: np.add,
    ElementwiseMode.SUB: np.subtract,
    U85ElementwiseMode.DIV: _divide,
    U85ElementwiseMode.CMP_EQ: lambda a, b: -(a == b).astype(np.int64),
    U85ElementwiseMode.CMP_NE: lambda a, b: -(a != b).astype(np.int64),
    U85ElementwiseMode.CMP_GE: lambda a, b: -(a >= b).astype(np.int64),
    U85ElementwiseMode.CMP_GT: lambda a, b: -(a > b).astype(np.int64),
    U85ElementwiseMode.AND: np.bitwise_and,
    U85ElementwiseMode.OR: np.bitwise_or,
    U85ElementwiseMode.XOR: np.bitwise_xor,
    U85ElementwiseMode.AND_NOT: lambda a, b: a & ~b,
}
