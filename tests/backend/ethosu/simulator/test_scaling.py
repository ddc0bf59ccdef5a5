"""Rounding: by hand, and against TFLite's definition in plain integers."""

import numpy as np
import pytest

from ethosgen.backend.ethosu.isa import RoundMode
from ethosgen.backend.ethosu.simulator.scaling import pooling_scale, rescale

DBL, TRUNCATE, NATURAL = RoundMode.DBL, RoundMode.TRUNCATE, RoundMode.NATURAL


def tflite(value: int, multiplier: int, right_shift: int) -> int:
    """Multiply as TFLite does: doubling high multiply, then divide by a power of two.

    The first rounds half up at bit 31; the second rounds half away from zero.
    """
    high = (value * multiplier + (1 << 30)) >> 31
    half = 1 << right_shift >> 1
    return (high + half) >> right_shift if high >= 0 else -((-high + half) >> right_shift)


def test_double_rounding_is_tflites() -> None:
    random = np.random.default_rng(5)
    values = np.concatenate([random.integers(-(1 << 31), 1 << 31, 4000), np.arange(-300, 300)])
    for shift in (31, 32, 33, 38, 45, 62):
        multiplier = int(random.integers(1 << 30, 1 << 31))
        expected = [tflite(int(v), multiplier, shift - 31) for v in values]
        assert rescale(values, multiplier, shift, DBL).tolist() == expected


# 3/2, -3/2, 5/4 and so on: what each mode makes of halves and of less than halves.
@pytest.mark.parametrize(
    ("mode", "shift", "values", "expected"),
    [
        (NATURAL, 1, [3, -3, 1, -1], [2, -1, 1, 0]),
        (NATURAL, 2, [5, 6, -6, -7], [1, 2, -1, -2]),
        (TRUNCATE, 1, [3, -3, 1, -1], [1, -1, 0, 0]),
        (DBL, 1, [3, -3, 1, -1], [2, -1, 1, 0]),  # no second rounding up to a shift of 31
        (NATURAL, 0, [3, -3], [3, -3]),
        (DBL, 0, [3, -3], [3, -3]),
    ],
)
def test_rounding_modes(
    mode: RoundMode, shift: int, values: list[int], expected: list[int]
) -> None:
    assert rescale(np.array(values, np.int64), 1, shift, mode).tolist() == expected


def test_double_rounding_differs_where_it_should() -> None:
    # 0.5 - 2**-33, at a shift of 32: the first rounding makes it 1/2, the second 1.
    value = np.array([(1 << 31) - 1, -(1 << 31) + 1], np.int64)
    assert rescale(value, 1, 32, DBL).tolist() == [1, -1]
    assert rescale(value, 1, 32, NATURAL).tolist() == [0, 0]


def test_a_left_shift_that_was_left_out_moves_the_first_rounding() -> None:
    # With 20 bits left out, the first rounding is at bit 11: 0x7fffffff/2**31 + … = 1 after it.
    value = np.array([(1 << 12) - (1 << 10)], np.int64)  # 3/4 of 2**12
    assert rescale(value, 1, 13, DBL, 20).tolist() == [1]  # (0.75 + 0.25) / 2 = 0.5, up to 1
    assert rescale(value, 1, 13, NATURAL).tolist() == [0]


@pytest.mark.parametrize("mode", list(RoundMode))
def test_products_beyond_63_bits_are_exact(mode: RoundMode) -> None:
    random = np.random.default_rng(3)
    values = random.integers(-(1 << 39), 1 << 39, 200)
    scales = random.integers(1 << 31, 1 << 32, 200)
    shifts = random.integers(36, 64, 200)
    for value, factor, shift in zip(values.tolist(), scales.tolist(), shifts.tolist(), strict=True):
        offset = {
            NATURAL: 1 << shift - 1,
            TRUNCATE: (1 << shift) - 1 if value < 0 else 0,
            DBL: (1 << shift - 1) + (-(1 << 30) if value < 0 else 1 << 30),
        }[mode]
        expected = (value * factor + offset) >> shift
        assert rescale(np.array([value]), factor, shift, mode).tolist() == [expected]


def test_products_beyond_63_bits_saturate_where_little_is_shifted_out() -> None:
    values = np.array([1 << 39, -(1 << 39), 3, -3])
    result = rescale(values, (1 << 32) - 1, 2, NATURAL)
    assert result[0] > 1 << 60 and result[1] < -(1 << 60)
    assert result[2:].tolist() == [3221225471, -3221225471]  # (3 * (2**32 - 1) + 2) >> 2


def test_scales_broadcast_per_channel() -> None:
    values = np.array([[100, 100], [-100, 101]], np.int64)
    result = rescale(values, np.array([1 << 30, 1 << 29]), np.array([31, 31]), DBL)
    assert result.tolist() == [[50, 25], [-50, 25]]


def test_a_pooling_scale_divides_with_halves_away_from_zero() -> None:
    for elements in (1, 2, 3, 4, 6, 9, 25, 64):
        scale, shift = pooling_scale(np.array([elements]))
        sums = np.arange(-128 * elements, 128 * elements)
        expected = [int(np.sign(s)) * ((abs(int(s)) + elements // 2) // elements) for s in sums]
        assert rescale(sums, scale, shift, NATURAL).tolist() == expected
