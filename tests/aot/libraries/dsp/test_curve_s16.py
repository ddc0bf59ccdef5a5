"""The lines of LOGISTIC and TANH of int16, beside TFLite Micro's formula."""

import numpy as np
import pytest

from ethosgen.aot.libraries.dsp.curve_s16 import signed_lines
from ethosgen.aot.operators.activation import sigmoid_table


@pytest.mark.parametrize(("code", "bits", "down"), [("LOGISTIC", 9, 10), ("TANH", 8, 8)])
def test_lines_are_tflite_micros_for_all_arguments(code: str, bits: int, down: int) -> None:
    heights, slopes = signed_lines(code)
    x = np.arange(-256 << bits, 256 << bits)
    line = (x >> bits) + 256
    outputs = (heights[line] + x * slopes[line]) >> down

    table = sigmoid_table().astype(np.int64)
    row, fraction = np.abs(x) >> bits, np.abs(x) & ((1 << bits) - 1)
    left, right = table[np.minimum(row, 254)], table[np.minimum(row, 254) + 1]
    value = np.where(
        row >= 255,
        0x7FFF << 10 if code == "LOGISTIC" else 0xFFFF << 8,
        (left << bits) + fraction * (right - left),
    )
    if code == "LOGISTIC":
        wanted = np.where(x < 0, (1 << 25) - value + (1 << 9) - 1, value + (1 << 9)) >> 10
    else:
        mirrored, plain = (1 << 23) - value + (1 << 7) - 1, value - (1 << 23) + (1 << 7)
        wanted = np.where(x < 0, mirrored, plain) >> 8
    np.testing.assert_array_equal(outputs, wanted)
