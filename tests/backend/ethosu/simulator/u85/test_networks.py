"""Small random networks, compiled by Vela for U85, bit for bit equal to TFLite Micro.

The NPU sizes take turns; `python -m tests.corpus run --product u85` draws more.
"""

import pytest

from tests.backend.ethosu.simulator.test_npu_networks import BUILDS, INT8_ONLY
from tests.support.networks import NetworkBuilder
from tests.support.npu_networks import assert_exact

SIZES = (256, 128, 512, 1024, 2048)
CASES = [
    *((name, "int8", BUILDS[name]) for name in BUILDS),
    *((name, "int8", INT8_ONLY[name]) for name in INT8_ONLY),
    *((name, "int16", BUILDS[name]) for name in ("conv2d", "depthwise", "tanh", "logistic", "add")),
]


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{CASES[i][1]}")
def test_a_network_is_exact(index: int) -> None:
    name, dtype, build = CASES[index]
    net = NetworkBuilder(name, seed=len(name))
    output = build(net, dtype)
    assert_exact(net.build(output), (f"ethos-u85-{SIZES[index % len(SIZES)]}",))
