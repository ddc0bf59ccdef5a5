"""PyTorch's operators as PT2E's quantizers leave them: exact on the NPU, a step from PyTorch."""

import pytest

from tests.support.needs import needs_torch
from tests.support.torch_rows import CONVOLUTIONS, IN_SIXTEEN_BITS, OTHERS, XNNPACKS, rows

pytestmark = [needs_torch, pytest.mark.slow]

IN_FLOAT = {
    "hardsigmoid": ("ADD", "MAXIMUM", "MINIMUM", "DIV"),
    "softmax": ("DIV",),
    "layer_norm": ("RSQRT",),
}
"""What has no form in integers: a reciprocal, a root, and a chain without a quantize between."""
DEEP = {"layer_norm"}
"""Chains of a dozen operators whose steps add up."""


@pytest.mark.parametrize("names", [CONVOLUTIONS, OTHERS], ids=["layers", "others"])
def test_operators_that_arms_quantizer_quantizes(names: list[str]) -> None:
    for row in rows("ethosu", names):
        assert row.differing == 0, row
        assert row.fidelity.most_steps < (2.5 if row.name in DEEP else 1.5), row
        assert row.in_float == IN_FLOAT.get(row.name, ()), row
        assert row.on_npu > 0 or row.name in ("hardsigmoid", "gelu"), row


def test_operators_that_the_quantizer_of_xnnpack_quantizes() -> None:
    for row in rows("xnnpack", XNNPACKS):
        assert row.differing == 0, row
        assert row.fidelity.most_steps < 1.5, row
        assert not row.in_float, row
        assert row.on_npu > 0, row


def test_operators_with_activations_of_sixteen_bits() -> None:
    for row in rows("ethosu16", IN_SIXTEEN_BITS):
        assert row.differing == 0, row
        assert row.fidelity.most_steps < 1.5, row
        assert not row.in_float, row
        assert row.on_npu > 0, row
