"""Dynamic-range networks: what they are, and which settings make one that runs."""

import pytest

from ethosgen.aot import compile_program
from ethosgen.values.errors import UnsupportedError
from tests.aot.aot_harness import cpu_plan
from tests.support.networks import NetworkBuilder, Spec


@pytest.mark.parametrize("code", ["FULLY_CONNECTED", "CONV_2D"])
def test_a_dynamic_range_network_is_named_with_what_to_do(code: str) -> None:
    net = NetworkBuilder("hybrid", seed=1)
    shapes = {"FULLY_CONNECTED": ((1, 4), (3, 4), (1, 3)), "CONV_2D": ((1, 2, 2, 4), (3, 1, 1, 4))}
    shape, weight, *made = shapes[code]
    x = net.input(shape, "float32", None)
    weights = net.constant(net.random_integers(weight), scale=0.02)
    bias = net.constant([0.5, -1.0, 2.0], "float32")
    spec = Spec((*made, (1, 2, 2, 3))[0], "float32")
    (y,) = net.operator(code, [x, weights, bias], [spec])
    with pytest.raises(UnsupportedError) as refusal:
        compile_program(cpu_plan(net.build(y)), "net")
    said = str(refusal.value)
    assert "dynamic-range quantization" in said and "representative_dataset" in said
    assert "litert-quantizer" in said and "ethosgen/aot" not in said and "\n" not in said
