"""Complex numbers in the types of kissfft: fixed point of 16 and 32 bits, and float32.

Values are computed as int32 or float32 and truncated to the tensor's type by a store, as in C.
16-bit sums are not truncated earlier: they fit after the division by a stage's factor, except where
`wrap` is used.
"""

import math
from typing import Any

import numpy as np

from ethosgen.aot.tir.nest import int32, number
from ethosgen.aot.tvm import tirx

Complex = tuple[Any, Any]
"""Expressions for the real and imaginary part."""


class Scalar:
    """The arithmetic of one type; this class implements float32, which is not scaled."""

    dtype = "float32"

    def number(self, value: float) -> Any:
        """Return a constant of the type of the computation."""
        return number(value, "float32")

    def constant(self, value: float) -> float:
        """Return the table entry for a float from -1 to 1."""
        return float(np.float32(value))

    def load(self, value: Any) -> Any:
        """Return an element in the type of the computation."""
        return value

    def plus(self, a: Any, b: Any) -> Any:
        """Return a + b."""
        return a + b

    def minus(self, a: Any, b: Any) -> Any:
        """Return a - b."""
        return a - b

    def negative(self, a: Any) -> Any:
        """Return -a."""
        return a * self.number(-1)

    def wrap(self, a: Any) -> Any:
        """Return the value that a number has after a store and a load."""
        return a

    def half(self, a: Any) -> Any:
        """Return a / 2 (HALF_OF)."""
        return a * self.number(0.5)

    def product(self, a: Any, b: Any) -> Any:
        """Return a product in full width."""
        return a * b

    def rounded(self, a: Any) -> Any:
        """Return a product, or a sum of products, rounded to the type."""
        return a

    def shrink(self, a: Complex, divisor: int) -> Complex:
        """Return a / divisor in fixed point (C_FIXDIV)."""
        return a

    # ---- complex numbers -----------------------------------------------------------------------

    def add(self, a: Complex, b: Complex) -> Complex:
        """Return a + b."""
        return self.plus(a[0], b[0]), self.plus(a[1], b[1])

    def subtract(self, a: Complex, b: Complex) -> Complex:
        """Return a - b."""
        return self.minus(a[0], b[0]), self.minus(a[1], b[1])

    def add_turned(self, a: Complex, b: Complex) -> Complex:
        """Return a + i b."""
        return self.minus(a[0], b[1]), self.plus(a[1], b[0])

    def subtract_turned(self, a: Complex, b: Complex) -> Complex:
        """Return a - i b."""
        return self.plus(a[0], b[1]), self.minus(a[1], b[0])

    def scale(self, a: Complex, factor: Any) -> Complex:
        """Return a times a float (C_MULBYSCALAR)."""
        return self.rounded(self.product(a[0], factor)), self.rounded(self.product(a[1], factor))

    def multiply(self, a: Complex, b: Complex) -> Complex:
        """Return a b (C_MUL)."""
        re = self.product(a[0], b[0]) - self.product(a[1], b[1])
        im = self.product(a[0], b[1]) + self.product(a[1], b[0])
        return self.rounded(re), self.rounded(im)


class Fixed(Scalar):
    """Fixed point with `bits` fraction bits, products of `product_dtype`."""

    def __init__(self, dtype: str, bits: int, product_dtype: str) -> None:
        self.dtype, self.bits, self.product_dtype = dtype, bits, product_dtype

    @property
    def _most(self) -> int:
        return (1 << self.bits) - 1

    def number(self, value: float) -> Any:
        """Return an int32."""
        return tirx.const(int(value), "int32")

    def constant(self, value: float) -> float:
        """Return a float from -1 to 1 in units of the greatest number."""
        return math.floor(0.5 + self._most * value)

    def load(self, value: Any) -> Any:
        """Return an int32."""
        return int32(value)

    def plus(self, a: Any, b: Any) -> Any:
        """Return a + b, wrapped to 32 bits by a cast, since C and LLVM wrap only casts."""
        return a + b if self.bits == 15 else int32(_cast(a, "int64") + _cast(b, "int64"))

    def minus(self, a: Any, b: Any) -> Any:
        """Return a - b, wrapped to 32 bits."""
        return a - b if self.bits == 15 else int32(_cast(a, "int64") - _cast(b, "int64"))

    def negative(self, a: Any) -> Any:
        """Return -a, wrapped to 32 bits."""
        return self.minus(self.number(0), a)

    def wrap(self, a: Any) -> Any:
        """Return an int32 truncated to the type."""
        return int32(tirx.Cast("int16", a)) if self.bits == 15 else a

    def half(self, a: Any) -> Any:
        """Return a / 2, rounded down."""
        return a >> 1

    def product(self, a: Any, b: Any) -> Any:
        """Return a b."""
        return _cast(a, self.product_dtype) * _cast(b, self.product_dtype)

    def rounded(self, a: Any) -> Any:
        """Return a double-width number rounded to nearest (sround)."""
        half, places = (tirx.const(x, self.product_dtype) for x in (1 << self.bits - 1, self.bits))
        return int32((a + half) >> places)

    def shrink(self, a: Complex, divisor: int) -> Complex:
        """Return a / divisor, by a product with a rounded reciprocal (DIVSCALAR)."""
        return self.scale(a, self.number(self._most // divisor))


def _cast(a: Any, dtype: str) -> Any:
    return a if dtype == "int32" else tirx.Cast(dtype, a)


SCALARS: dict[str, Scalar] = {
    "int16": Fixed("int16", 15, "int32"),
    "int32": Fixed("int32", 31, "int64"),
    "float32": Scalar(),
}
"""The arithmetic by dtype of the tensors."""
