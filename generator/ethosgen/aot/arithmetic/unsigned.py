"""Unsigned integers. LLVM, as TVM calls it, assumes that their sums and products do not wrap."""

from typing import Any

from ethosgen.aot.tir.nest import Nest, dtype_of, int32
from ethosgen.aot.tvm import tirx


def unsigned(value: Any, bits: int = 32) -> Any:
    """Return a number or an expression as an unsigned integer of `bits` bits."""
    dtype = f"uint{bits}"
    if isinstance(value, int):
        return tirx.const(value, dtype)
    return value if dtype_of(value) == dtype else tirx.Cast(dtype, value)


def above(a: Any, b: Any) -> Any:
    """Return a > b for uint32, compared in int64: TVM's proofs subtract and assume signed types."""
    return tirx.Cast("int64", unsigned(a)) > tirx.Cast("int64", unsigned(b))


def bit_length(nest: Nest, value: Any) -> Any:
    """Return the bit length of a positive uint32 or uint64 (MostSignificantBit) as int32."""
    bits = int(dtype_of(value).removeprefix("uint"))
    rest = nest.local("rest", value)
    length = nest.local("bits", int32(1))
    step = bits // 2
    while step:
        with nest.when(rest[0] >= unsigned(1 << step, bits)):
            nest.store(rest, (0,), rest[0] >> unsigned(step, bits))
            nest.store(length, (0,), length[0] + step)
        step //= 2
    return nest.let("length", length[0])


def square_root(nest: Nest, value: Any) -> Any:
    """Return the square root of a uint32, rounded to nearest, at most 65535.

    The remainder decides whether to round up (square_root_32.cc).
    """
    root, rest = _digits(nest, value, (bit_length(nest, value) + 1) >> 1)
    with nest.when(tirx.all(above(rest[0], root[0]), above((1 << 16) - 1, root[0]))):
        nest.store(root, (0,), root[0] + unsigned(1))
    return nest.let("rounded", root[0])


def square_root_64(nest: Nest, value: Any) -> Any:
    """Return the square root of a uint64 of at least 2^32, rounded as in square_root_64.cc.

    The digit method on the upper half gives the upper half of the root, and a division the lower:
    at most 2 too large, and less than 2 too small (Zimmermann, Karatsuba Square Root). Subtract 2,
    and at most 4 increments reach the root.
    """
    high = nest.let("high", unsigned(value >> unsigned(32, 64)))
    empty = nest.let("empty", (int32(32) - bit_length(nest, high)) & -2)
    aligned = nest.let("aligned", value << unsigned(empty, 64))
    digits, left = _digits(nest, nest.let("top", unsigned(aligned >> unsigned(32, 64))), int32(16))
    upper = nest.let("upper", digits[0])
    lower = nest.let("lower", tirx.truncdiv(left[0] << unsigned(15), upper))
    least = tirx.Select(above(lower, 2), lower - unsigned(2), unsigned(0))
    joined = ((upper << unsigned(16)) + least) >> unsigned(empty >> 1)
    root = nest.local("root_so_far", joined)
    start = nest.let("start", unsigned(root[0], 64))
    rest = nest.local("rest_so_far", tirx.Cast("int64", value - start * start))
    with nest.loop("step", 4):
        known = nest.let("known", tirx.Cast("int64", root[0]))
        with nest.when(rest[0] > known * 2):
            nest.store(rest, (0,), rest[0] - known * 2 - 1)
            nest.store(root, (0,), root[0] + unsigned(1))
    known, most = tirx.Cast("int64", root[0]), tirx.const((1 << 32) - 1, "int64")
    with nest.when(tirx.all(rest[0] > known, known < most)):
        nest.store(root, (0,), root[0] + unsigned(1))
    return nest.let("rounded", root[0])


def _digits(nest: Nest, value: Any, count: Any) -> tuple[Any, Any]:
    """Return variables with the square root and remainder of a uint32 of at most 2 `count` bits."""
    rest, root = nest.local("rest_of_root", value), nest.local("root", unsigned(0))
    bit = nest.local("bit", unsigned(1) << unsigned((count - 1) * 2))
    with nest.loop("digit", count):
        trial = nest.let("trial", root[0] + bit[0])
        nest.store(root, (0,), root[0] >> unsigned(1))
        with nest.when(rest[0] >= trial):
            nest.store(rest, (0,), rest[0] - trial)
            nest.store(root, (0,), root[0] + bit[0])
        nest.store(bit, (0,), bit[0] >> unsigned(2))
    return root, rest
