"""Whole networks from PyTorch: exact, near to PyTorch, on the NPU as far as quantized."""

import pytest

from tests.support.needs import needs_torch
from tests.support.torch_rows import NETWORKS, Row, rows

pytestmark = [needs_torch, pytest.mark.slow]


def check(row: Row, *, most_steps: float = 1.5) -> None:
    fidelity = row.fidelity
    assert row.differing == 0, row
    assert fidelity.most_steps < most_steps, row
    assert fidelity.same_largest + fidelity.close_largest == fidelity.rows, row
    within = (fidelity.equal + fidelity.by_one) / fidelity.elements
    assert within >= 0.99 or most_steps > 2.5, row


def test_networks_of_the_quantizer_of_xnnpack() -> None:
    spotter, residual, coder, mobile = rows("xnnpack", NETWORKS["xnnpack"])
    check(spotter)
    check(residual)
    check(coder)
    check(mobile, most_steps=2.5)
    assert (mobile.on_npu, len(mobile.codes)) == (71, 73)
    assert not mobile.in_float
    assert "RELU6" not in mobile.codes  # fused into the convolutions
    assert spotter.in_float == ("SOFTMAX",)  # which this quantizer leaves alone


def test_networks_of_arms_quantizer() -> None:
    spotter, residual, coder, transformer = rows("ethosu", NETWORKS["ethosu"][:-1])
    check(spotter)
    check(residual)
    check(coder)
    check(transformer, most_steps=3.5)
    assert coder.codes == ("QUANTIZE", *["FULLY_CONNECTED"] * 10, "DEQUANTIZE")
    assert set(transformer.in_float) == {"DIV", "RSQRT"}


def test_an_lstm_written_out() -> None:
    """It has five outputs; test_torch_rounding.py shows why some differ."""
    (recurrent,) = rows("ethosu", ["lstm"], samples=40)
    check(recurrent, most_steps=2.5)
    assert not recurrent.in_float
