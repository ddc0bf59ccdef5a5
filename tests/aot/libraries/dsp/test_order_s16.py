"""The tables of the DSP kernels for int16, beside the arithmetic that they stand for."""

import numpy as np
import pytest

from ethosgen.aot.libraries.dsp import order_s16
from ethosgen.aot.tir.quantization import quantize_multiplier, shorten


def test_weights_are_packed_as_the_header_says() -> None:
    weights = np.arange(1, 16).reshape(3, 5).astype(np.int8)
    words = order_s16.matrix_weights(weights).reshape(2, 3, 2, 2)
    for channel, place in ((0, 0), (1, 3), (2, 4), (0, 4)):
        packed = words[channel // 2, place // 2, place % 2, channel % 2]
        assert packed == weights[channel, place]
    assert not words[1, ..., 1].any(), "there is no fourth channel"
    assert not words[:, 2, 1].any(), "there is no sixth place"


@pytest.mark.parametrize("factor", [3e-9, 1e-6, 0.0007, 0.02, 0.24, 0.7, 3.0, 127.0])
def test_a_scale_gives_tflite_micros_output(factor: float) -> None:
    multiplier = quantize_multiplier(factor)
    bias, most = -12345, 1 << 31
    scale = order_s16.scale(bias, multiplier, most)
    assert scale is not None
    low, high, mantissa, shift = scale
    addend = (high << 32) + (low & 0xFFFFFFFF)
    short, right = shorten(multiplier)
    for total in (0, 1, -1, 12345, 99999, -(1 << 31), (1 << 31) - 1, most, -most):
        wanted = ((total + bias) * short + (1 << (right - 1))) >> right
        assert (total * mantissa + addend) >> (32 + shift) == wanted


def test_scaled_sums_that_need_more_than_64_bits_are_refused() -> None:
    assert order_s16.scale(0, quantize_multiplier(0.4), 1 << 33) is None
    assert order_s16.scale(1 << 40, quantize_multiplier(0.4), 1) is None, "its bias is too large"


def test_parts_have_sums_of_32_bits() -> None:
    def part(weight: int, depth: int, shift: int = 0) -> int:
        return order_s16.part(np.full((2, depth), weight, np.int8), np.full((2, 4), shift))

    assert part(-128, 511) == 0
    assert part(-128, 511, -1) == 256
    assert part(-128, 512) == 128, "-32768 * -128 * 512 is 2**31"
    assert part(127, 1400) == 234
    assert part(0, 5000) == 0
