"""TOSA's operators that compute one element from the elements at its index.

Results that TOSA calls unpredictable, because a sum or a shift leaves its type, may be any; the
emitted C is never undefined for them in a way that could stop the firmware.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ethosgen.aot.operators import operator
from ethosgen.aot.operators.tosa.layers import point_of
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, dtype_of, int32, pointwise
from ethosgen.aot.tir.quantization import clamp, limits
from ethosgen.aot.tvm import tirx
from ethosgen.values.network import Operator, Tensor

INTEGERS = ("int8", "int16", "int32")
INT32_MIN = -(1 << 31)


def _ends(op: Operator, tensors: Sequence[Tensor], count: int) -> tuple[list[Tensor], Tensor]:
    """Return the first inputs and the output."""
    return [tensors[i] for i in op.inputs[:count]], tensors[op.outputs[0]]


def _int64(x: Any) -> Any:
    if isinstance(x, int):
        return tirx.const(x, "int64")
    return x if dtype_of(x) == "int64" else tirx.Cast("int64", x)


# ---- RESCALE -------------------------------------------------------------------------------------


@operator("TOSA_RESCALE", dtypes=(*INTEGERS, "int64"))
def rescale(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply by 2**-shift times a multiplier, with one or two roundings, and saturate."""
    source, multiplier, shift, *points = (tensors[i] for i in op.inputs)
    target = tensors[op.outputs[0]]
    before = _point(points[0], bool(op.options["input_unsigned"]))
    after = _point(points[1], bool(op.options["output_unsigned"]))
    bounds = _range(target.dtype, bool(op.options["output_unsigned"]))
    is_double = op.options["rounding_mode"] == "DOUBLE_ROUND"
    pairs = list(zip(multiplier.array().tolist(), shift.array().tolist(), strict=True))
    shape = source.shape if len(pairs) > 1 else (source.elements,)
    nest = Nest()
    x, y = nest.read("input", source, shape), nest.write("output", target, shape)
    tables = _tables(nest, pairs, is_double)
    with nest.loops(shape) as index:
        value = _value(x[index], bool(op.options["input_unsigned"]))
        if before:
            value = value - (_int64(before) if source.dtype == "int64" else before)
        value = nest.let("value", value)
        factors = [table[index[-1]] for table in tables] if tables else list(pairs[0])
        scaled = _scaled(nest, value, factors, is_double)
        result = nest.let("result", scaled + _int64(after) if after else scaled)
        low, high = (_int64(bound) for bound in bounds)
        bounded = nest.let("bounded", tirx.max(tirx.min(result, high), low))
        nest.store(y, index, int32(bounded))
    return nest.kernel()


def _point(tensor: Tensor, is_unsigned: bool) -> int:
    value = point_of(tensor)
    return value % (1 << (8 * np.dtype(tensor.dtype).itemsize)) if is_unsigned else value


def _range(dtype: str, is_unsigned: bool) -> tuple[int, int]:
    return limits(f"u{dtype}" if is_unsigned else dtype)


def _value(x: Any, is_unsigned: bool) -> Any:
    """Return an input as int32, or int64 for int48."""
    dtype = dtype_of(x)
    if dtype == "int64":
        return x
    return int32(x) & ((1 << (8 * np.dtype(dtype).itemsize)) - 1) if is_unsigned else int32(x)


def _tables(nest: Nest, pairs: Sequence[tuple[int, int]], is_double: bool) -> list[Any]:
    """Declare the multipliers and shifts of channels; none if one pair serves all."""
    if len(pairs) == 1:
        return []
    mantissas = np.array([mantissa for mantissa, _ in pairs], np.int32)
    shifts = np.array([shift for _, shift in pairs], np.uint8)
    return [nest.table("multipliers", mantissas), nest.table("shifts", shifts)]


def _scaled(nest: Nest, value: Any, factors: Sequence[Any], is_double: bool) -> Any:
    """Return value * multiplier / 2**shift, rounded, as int64 (apply_scale_32, apply_scale_16)."""
    mantissa, shift = factors
    product = _int64(value) * _int64(mantissa)
    if isinstance(shift, int):
        half: Any = _int64(1 << (shift - 1))
        places: Any = _int64(shift)
        twice = is_double and shift > 31
    else:
        places = nest.let("places", _int64(shift))
        half = _int64(1) << (places - _int64(1))
        twice = is_double
    if twice:
        nudge = tirx.Select(_int64(value) >= _int64(0), _int64(1 << 30), _int64(-(1 << 30)))
        if not isinstance(shift, int):
            nudge = tirx.Select(places > _int64(31), nudge, _int64(0))
        half = half + nudge
    return (product + half) >> places


# ---- TABLE, CLAMP, NEGATE, CAST ------------------------------------------------------------------


@operator("TOSA_TABLE", dtypes=("int8",))
def table8(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Look up each of 256 values."""
    sources, target = _ends(op, tensors, 1)
    values = tensors[op.inputs[1]].array()
    return pointwise(sources, target, lambda _, a, table: table[int32(a) + 128], {"table": values})


@operator("TOSA_TABLE", dtypes=("int16",))
def table16(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Interpolate between 513 values; the result has 7 more bits."""
    sources, target = _ends(op, tensors, 1)
    values = tensors[op.inputs[1]].array()

    def formula(nest: Nest, a: Any, table: Any) -> Any:
        at = nest.let("at", int32(a) + (1 << 15))
        base = nest.let("base", int32(table[at >> 7]))
        slope = nest.let("slope", int32(table[(at >> 7) + 1]) - base)
        return base * 128 + slope * (at & 0x7F)

    return pointwise(sources, target, formula, {"table": values})


@operator("TOSA_CLAMP", dtypes=("int8", "int16"), in_place=True)
def clamp_(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Limit to the bounds."""
    sources, target = _ends(op, tensors, 1)
    size = np.dtype(target.dtype).itemsize
    low, high = (
        int(np.frombuffer(bytes(op.options[name])[:size], target.dtype)[0])
        for name in ("min_val", "max_val")
    )
    return pointwise(sources, target, lambda _, a: clamp(int32(a), low, high))


@operator("TOSA_NEGATE", dtypes=INTEGERS)
def negate(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Negate around the zero points, and saturate."""
    sources, target = _ends(op, tensors, 1)
    before, after = (point_of(tensors[i]) for i in op.inputs[1:])

    def formula(nest: Nest, a: Any) -> Any:
        if target.dtype == "int32":
            value = nest.let("negative", _int64(0) - _int64(a))
            return int32(nest.let("bounded", tirx.min(value, _int64((1 << 31) - 1))))
        value = nest.let("negative", (before + after) - int32(a))
        return clamp(value, *limits(target.dtype))

    return pointwise(sources, target, formula)


@operator("TOSA_CAST", dtypes=(*INTEGERS, "bool"))
def cast(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Convert, with wrap-around; every value but 0 is true."""
    sources, target = _ends(op, tensors, 1)
    if target.dtype == "float32":
        return pointwise(sources, target, lambda _, a: tirx.Cast("float32", a))
    if target.dtype == "bool":
        return pointwise(sources, target, lambda _, a: tirx.NE(int32(a), int32(0)))
    return pointwise(sources, target, lambda _, a: int32(a))


# ---- one or two inputs ---------------------------------------------------------------------------


def _clz(nest: Nest, a: Any) -> Any:
    """Return the number of leading zeros, by halves; a chain of lets takes TVM minutes."""
    rest = nest.keep("bits", tirx.Cast("uint32", a))
    zeros: Any = tirx.const(0, "int32")
    for step in (16, 8, 4, 2, 1):
        is_small = nest.let("is_small", rest < tirx.const(1 << (32 - step), "uint32"))
        zeros = nest.keep("zeros", zeros + tirx.Select(is_small, int32(step), int32(0)))
        shifted = rest << tirx.const(step, "uint32")
        rest = nest.keep("bits", tirx.Select(is_small, shifted, rest))
    last = tirx.Select(tirx.EQ(rest, tirx.const(0, "uint32")), int32(1), int32(0))
    return zeros + last


_UNARY: dict[str, Callable[[Nest, Any], Any]] = {
    "TOSA_ABS": lambda _, a: tirx.Select(a < 0, 0 - a, a),
    "TOSA_CLZ": _clz,
    "TOSA_BITWISE_NOT": lambda _, a: (0 - 1) - int32(a),
    "TOSA_LOGICAL_NOT": lambda _, a: tirx.Not(a),
}


@operator("TOSA_ABS", "TOSA_CLZ", dtypes=("int32",))
@operator("TOSA_BITWISE_NOT", dtypes=INTEGERS)
@operator("TOSA_LOGICAL_NOT", dtypes=("bool",))
def unary(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute each element from one."""
    return pointwise(*_ends(op, tensors, 1), _UNARY[op.code])


def _divided(nest: Nest, a: Any, b: Any) -> Any:
    """Return a / b towards zero; unpredictable quotients are a."""
    is_bad = tirx.any(tirx.EQ(b, 0), tirx.all(tirx.EQ(b, -1), tirx.EQ(a, int32(INT32_MIN))))
    divisor = nest.let("divisor", tirx.Select(is_bad, int32(1), b))
    return tirx.truncdiv(a, divisor)


def _xor(a: Any, b: Any) -> Any:
    return tirx.NE(int32(a), int32(b))


_BINARY: dict[str, Callable[[Nest, Any, Any], Any]] = {
    "TOSA_ADD": lambda _, a, b: a + b,
    "TOSA_SUB": lambda _, a, b: a - b,
    "TOSA_INTDIV": _divided,
    "TOSA_MAXIMUM": lambda _, a, b: tirx.max(a, b),
    "TOSA_MINIMUM": lambda _, a, b: tirx.min(a, b),
    "TOSA_BITWISE_AND": lambda _, a, b: int32(a) & int32(b),
    "TOSA_BITWISE_OR": lambda _, a, b: int32(a) | int32(b),
    "TOSA_BITWISE_XOR": lambda _, a, b: int32(a) ^ int32(b),
    "TOSA_LOGICAL_AND": lambda _, a, b: tirx.NE(int32(a) & int32(b), int32(0)),
    "TOSA_LOGICAL_OR": lambda _, a, b: tirx.NE(int32(a) | int32(b), int32(0)),
    "TOSA_LOGICAL_XOR": lambda _, a, b: _xor(a, b),
    "TOSA_EQUAL": lambda _, a, b: tirx.EQ(a, b),
    "TOSA_GREATER": lambda _, a, b: a > b,
    "TOSA_GREATER_EQUAL": lambda _, a, b: a >= b,
}


@operator("TOSA_ADD", "TOSA_SUB", dtypes=("int32", "float32"))
@operator("TOSA_INTDIV", dtypes=("int32",))
@operator("TOSA_MAXIMUM", "TOSA_MINIMUM", dtypes=("int32",))
@operator("TOSA_BITWISE_AND", "TOSA_BITWISE_OR", "TOSA_BITWISE_XOR", dtypes=INTEGERS)
@operator("TOSA_LOGICAL_AND", "TOSA_LOGICAL_OR", "TOSA_LOGICAL_XOR", dtypes=("bool",))
@operator("TOSA_EQUAL", "TOSA_GREATER", "TOSA_GREATER_EQUAL", dtypes=("int32", "float32"))
def binary(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Compute each element from two, broadcast."""
    return pointwise(*_ends(op, tensors, 2), _BINARY[op.code])


@operator("TOSA_MUL", dtypes=INTEGERS)
def mul(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Multiply in int32; a shift divides the 64-bit product of int32, rounded."""
    sources, target = _ends(op, tensors, 2)
    shift = point_of(tensors[op.inputs[2]])

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        if not shift:
            return int32(a) * int32(b)
        product = nest.let("product", _int64(a) * _int64(b) + _int64(1 << (shift - 1)))
        return int32(product >> _int64(shift))

    return pointwise(sources, target, formula)


@operator(
    "TOSA_ARITHMETIC_RIGHT_SHIFT",
    "TOSA_LOGICAL_LEFT_SHIFT",
    "TOSA_LOGICAL_RIGHT_SHIFT",
    dtypes=INTEGERS,
)
def shift(op: Operator, tensors: Sequence[Tensor]) -> Kernel:
    """Shift by 0 to 31 places; shifts that TOSA does not allow are taken modulo 32."""
    sources, target = _ends(op, tensors, 2)
    bits = 8 * np.dtype(target.dtype).itemsize
    rounds = bool(op.options.get("round"))

    def formula(nest: Nest, a: Any, b: Any) -> Any:
        places = nest.let("places", int32(b) & 31)
        if op.code == "TOSA_ARITHMETIC_RIGHT_SHIFT":
            value = nest.let("value", int32(a))
            if not rounds:
                return value >> places
            before = tirx.max(nest.let("before", places - 1), 0)
            half = nest.let("half", (value >> before) & 1)
            up = tirx.Select(places > 0, half, int32(0))
            return (value >> places) + up
        plain = tirx.Cast("uint32", int32(a))
        if bits < 32:
            plain = plain & tirx.const((1 << bits) - 1, "uint32")
        plain, by = nest.let("plain", plain), tirx.Cast("uint32", places)
        moved = plain << by if op.code == "TOSA_LOGICAL_LEFT_SHIFT" else plain >> by
        return tirx.reinterpret("int32", nest.let("moved", moved))

    return pointwise(sources, target, formula)
