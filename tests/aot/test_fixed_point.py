"""gemmlowp's fixed point: hand-computed roundings and saturations, and closeness to the reals."""

import math

import pytest

from ethosgen.aot.tir import fixed_point as fp
from ethosgen.aot.tir.quantization import (
    Multiplier,
    apply,
    input_radius,
    quantize_multiplier,
)

HALF = 1 << 30


def test_products_round_halves_up() -> None:
    assert fp.multiply(HALF, 2) == 1  # 2**30 * 2 / 2**31
    assert fp.multiply(HALF, 1) == 1  # one half
    assert fp.multiply(HALF, -1) == 0  # minus one half
    assert fp.multiply(HALF, -3) == -1  # minus one and a half
    assert fp.multiply(fp.INT32_MIN, fp.INT32_MIN) == fp.INT32_MAX


def test_division_rounds_halves_away_from_zero() -> None:
    assert [fp.divide_by_power(x, 1) for x in (-3, -2, -1, 0, 1, 2, 3)] == [-2, -1, -1, 0, 1, 1, 2]
    assert fp.divide_by_power(5, 0) == 5
    assert fp.divide_by_power(fp.INT32_MAX, 31) == 1


def test_double_rounding_differs_from_single_rounding() -> None:
    """1.4999… becomes 1.5 in the first rounding and 2 in the second."""
    multiplier = Multiplier((1 << 31) - 1, -1)
    assert apply(multiplier, 3) == 2
    assert round(3 * ((1 << 31) - 1) / (1 << 32)) == 1


def test_powers_saturate() -> None:
    assert fp.multiply_by_power(HALF, 1) == fp.INT32_MAX
    assert fp.multiply_by_power(-HALF, 1) == fp.INT32_MIN
    assert fp.multiply_by_power(-HALF - 1, 1) == fp.INT32_MIN
    assert fp.multiply_by_power(3, 4) == 48


@pytest.mark.parametrize("real", [0.0, 1.0, 0.5, 0.7, 3.9, 1e-5, 1000.0])
def test_multipliers_stand_for_their_reals(real: float) -> None:
    multiplier = quantize_multiplier(real)
    assert multiplier.mantissa * 2.0 ** (multiplier.shift - 31) == pytest.approx(real, rel=1e-9)


def test_multipliers_at_their_limits() -> None:
    assert quantize_multiplier(1.0) == Multiplier(HALF, 1)
    assert quantize_multiplier(1.0 - 2.0**-40) == Multiplier(HALF, 1)  # rounds up to 1
    assert quantize_multiplier(2.0**-33) == Multiplier(0, 0)  # too small to be kept


def test_input_radius() -> None:
    assert input_radius(4, 20) == 15 * 2**27 // 2**20


@pytest.mark.parametrize("bits", [4, 5])
def test_functions_are_close_to_the_reals(bits: int) -> None:
    for step in range(-400, 401):
        real = step / 400 * (2 ** (bits - 1) - 1)
        raw = round(real * 2 ** (31 - bits))
        assert fp.logistic(raw, bits) / 2**31 == pytest.approx(1 / (1 + math.exp(-real)), abs=1e-6)
        if bits == 4:
            assert fp.tanh(raw, bits) / 2**31 == pytest.approx(math.tanh(real), abs=1e-6)
        if real <= 0:
            assert fp.exp_of_negative(raw, bits) / 2**31 == pytest.approx(math.exp(real), abs=1e-6)
