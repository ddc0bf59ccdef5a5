"""Whole numbers rounded up."""

import math

import pytest

from ethosgen.values.multiples import pieces, rounded_up


@pytest.mark.parametrize("value", [0, 1, 15, 16, 17, 1 << 62, (1 << 62) + 1])
def test_numbers_are_rounded_up_exactly(value: int) -> None:
    assert pieces(value, 16) == value // 16 + bool(value % 16)
    assert rounded_up(value, 16) == next(n for n in range(value, value + 16) if n % 16 == 0)
    assert math.gcd(rounded_up(value, 12), 12) == 12
