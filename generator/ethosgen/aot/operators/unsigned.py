"""Unsigned numbers. LLVM, as TVM calls it, takes for granted that their sums and products fit."""

from typing import Any

from tvm import tirx

from ethosgen.aot.operators.nest import Nest, dtype_of, int32


def unsigned(value: Any, bits: int = 32) -> Any:
    """Return a number or an expression as uint32, or with so many bits."""
    dtype = f"uint{bits}"
    if isinstance(value, int):
        return tirx.const(value, dtype)
    return value if dtype_of(value) == dtype else tirx.Cast(dtype, value)


def above(a: Any, b: Any) -> Any:
    """Return whether a uint32 is greater than another: TVM's proofs subtract, and need a sign."""
    return tirx.Cast("int64", unsigned(a)) > tirx.Cast("int64", unsigned(b))


def bit_length(nest: Nest, value: Any) -> Any:
    """Return how many bits a positive uint32 or uint64 has (MostSignificantBit), as int32."""
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
    """Return the square root of a uint32 or uint64, rounded to the nearest, as the same type.

    It is the remainder of the digit-by-digit method that tells whether to round up; what does not
    fit in half the bits is not rounded (square_root_32.cc, square_root_64.cc).
    """
    dtype = dtype_of(value)
    bits = int(dtype.removeprefix("uint"))

    def const(x: int) -> Any:
        return unsigned(x, bits)

    rest, root = nest.local("rest_of_root", value), nest.local("root", const(0))
    with nest.when(value > const(0)):
        digits = nest.let("digits", (bit_length(nest, value) + 1) >> 1)
        bit = nest.local("bit", const(1) << tirx.Cast(dtype, (digits - 1) * 2))
        with nest.loop("digit", digits):
            trial = nest.let("trial", root[0] + bit[0])
            nest.store(root, (0,), root[0] >> const(1))
            with nest.when(rest[0] >= trial):
                nest.store(rest, (0,), rest[0] - trial)
                nest.store(root, (0,), root[0] + bit[0])
            nest.store(bit, (0,), bit[0] >> const(2))
        most = const((1 << bits // 2) - 1)
        with nest.when(tirx.all(rest[0] > root[0], root[0] < most)):
            nest.store(root, (0,), root[0] + const(1))
    return nest.let("rounded", root[0])
