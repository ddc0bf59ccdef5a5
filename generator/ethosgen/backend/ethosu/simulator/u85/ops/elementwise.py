"""NPU_OP_ELEMENTWISE on U85: both operands are scaled, combined, and the result is scaled."""

from collections.abc import Callable

import numpy as np

from ethosgen.backend.ethosu.isa_u85 import BroadcastMode, ElementwiseMode
from ethosgen.backend.ethosu.simulator.feature_map import Placed
from ethosgen.backend.ethosu.simulator.operation import Scale
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.ops.elementwise import leading_zeros, shift_left
from ethosgen.backend.ethosu.simulator.ops.output import Target, finisher, scaler
from ethosgen.backend.ethosu.simulator.scaling import Ints, Rescale
from ethosgen.backend.ethosu.simulator.u85.operation import (
    Chained,
    Constant,
    Scaled,
    U85Elementwise,
)
from ethosgen.values.errors import NpuFault

_MAX_SHIFT = 63

_Read = Callable[[], Ints]
_Unary = Callable[[Ints], Ints]
_Binary = Callable[[Ints, Ints], Ints]

_UNSCALED = (
    ElementwiseMode.SHR,
    ElementwiseMode.SHL,
    ElementwiseMode.LSR,
    ElementwiseMode.DIV,
)
"""Operations whose result Regor never scales."""


def prepare(context: Context, operation: U85Elementwise, ofm: Target) -> Action:
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
    ofm = operation.ofm
    if operation.mode is ElementwiseMode.MUL and operation.first.operand.dtype[-1] == "4":
        return Rescale(1, ofm.scale.shift, ofm.rounding)
    if operation.mode in _UNSCALED:
        if not _is_unit(ofm.scale):
            raise NpuFault("parse", f"{operation.mode.name} with OFM_SCALE is not modelled")
        return lambda values: values
    return scaler(ofm)


def _reader(context: Context, operation: U85Elementwise, scaled: Scaled) -> _Read:
    """Return a function that reads an operand minus its zero point, scaled."""
    raw = _raw(context, operation, scaled)
    if operation.mode is ElementwiseMode.LRELU or _is_unit(scaled.scale):
        return raw
    if operation.mode in (ElementwiseMode.MUL, ElementwiseMode.DIV):
        raise NpuFault("parse", f"{operation.mode.name} with scaled operands is not modelled")
    scale = _rescale(scaled, scaled.scale)
    return lambda: scale(raw())


def _rescale(scaled: Scaled, scale: Scale) -> Rescale:
    return Rescale(scale.scale, scale.shift, scaled.rounding, scaled.double_round)


def _raw(context: Context, operation: U85Elementwise, scaled: Scaled) -> _Read:
    operand, shape = scaled.operand, scaled.shape(operation.ofm.shape)
    zero_point = operand.zero_point
    if isinstance(operand, Constant):
        if scaled.broadcast is not BroadcastMode.SCALAR:
            raise NpuFault("parse", "an operand that is not in memory must be a scalar")
        constant = np.full((1, 1, 1), operand.value - zero_point, np.int64)
        return lambda: constant
    if isinstance(operand, Chained):
        buffers, number = context.inner.buffers, operand.buffer

        def read() -> Ints:
            found = buffers.get(number)
            if found is None or found.shape != shape:
                raise NpuFault("parse", f"chaining buffer {number} has no operand of this shape")
            return found - zero_point

        return read
    placed = Placed(context.bus, operand, context.base(operand.region), shape)
    return lambda: placed.read().astype(np.int64) - zero_point


def _unary(operation: U85Elementwise) -> _Unary:
    match operation.mode:
        case ElementwiseMode.ABS:
            return np.abs
        case ElementwiseMode.CLZ:
            return leading_zeros
        case ElementwiseMode.NOT:
            return np.invert
    positive = _rescale(operation.first, operation.first.scale)
    negative = _rescale(operation.first, operation.negative)
    return lambda a: np.where(a >= 0, positive(a), negative(a))


def _binary(operation: U85Elementwise) -> _Binary:
    if operation.mode is ElementwiseMode.SHR:
        return _shift_right(operation)
    return _BINARY[operation.mode]


def _shift_right(operation: U85Elementwise) -> _Binary:
    """Return a function that shifts right and rounds."""
    ofm = operation.ofm

    def shift(a: Ints, b: Ints) -> Ints:
        amount = np.minimum(np.maximum(b, 0), _MAX_SHIFT)
        return Rescale(1, amount, ofm.rounding)(np.broadcast_to(a, ofm.shape))

    return shift


def _shift_right_logical(a: Ints, b: Ints) -> Ints:
    """Shift 32-bit values right, with zeros from the left."""
    return (a & 0xFFFFFFFF) >> np.clip(b, 0, 32)


def _divide(a: Ints, b: Ints) -> Ints:
    """Divide towards zero; NpuFault for a divisor of 0, whose result the sources do not define."""
    if not b.all():
        raise NpuFault("parse", "a division by 0 is not modelled")
    quotient: Ints = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
    return quotient


# True is -1 in the NPU: Regor converts the ends of networks (ConvertBool8Tensors).
_BINARY: dict[ElementwiseMode, _Binary] = {
    ElementwiseMode.MUL: np.multiply,
    ElementwiseMode.ADD: np.add,
    ElementwiseMode.SUB: np.subtract,
    ElementwiseMode.MIN: np.minimum,
    ElementwiseMode.MAX: np.maximum,
    ElementwiseMode.SHL: shift_left,
    ElementwiseMode.LSR: _shift_right_logical,
    ElementwiseMode.DIV: _divide,
    ElementwiseMode.CMP_EQ: lambda a, b: -(a == b).astype(np.int64),
    ElementwiseMode.CMP_NE: lambda a, b: -(a != b).astype(np.int64),
    ElementwiseMode.CMP_GE: lambda a, b: -(a >= b).astype(np.int64),
    ElementwiseMode.CMP_GT: lambda a, b: -(a > b).astype(np.int64),
    ElementwiseMode.AND: np.bitwise_and,
    ElementwiseMode.OR: np.bitwise_or,
    ElementwiseMode.XOR: np.bitwise_xor,
    ElementwiseMode.AND_NOT: lambda a, b: a & ~b,
}
