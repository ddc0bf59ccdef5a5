"""Two hundred damaged networks: each ends in a plan and golden outputs, or in one sentence."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.stream import scratch_bytes
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError
from tests.support.mutations import mutate
from tests.support.networks import NetworkBuilder

MUTATIONS = 200


def original_network() -> bytes:
    net = NetworkBuilder("victim", seed=5)
    x = net.conv2d(net.input((1, 8, 8, 4)), 8, activation="RELU")
    x = net.max_pool(net.depthwise(x, stride=(2, 2)), (2, 2))
    x = net.add(net.conv2d(x, 8, (1, 1)), x)
    net.softmax(net.fully_connected(x, 10))
    return net.build()


def fate(data: bytes) -> str:
    """Say how far a network gets; anything but an EthosgenError escapes."""
    stage = "read"
    try:
        network = parse_network(data, "mutant")
        stage = "offload"
        plan = offload(network, find_accelerator("ethos-u55-128"))
        assert all(0 <= offset < scratch_bytes(plan) for offset in plan.offsets.values())
        stage = "golden"
        golden_outputs(network, random_samples(network, 1, seed=0))
    except EthosgenError as error:
        message = str(error)
        assert "mutant" in message, message
        assert "\n" not in message, message
        return stage
    return "alive"


@pytest.mark.slow
def test_every_mutation_ends_well() -> None:
    original = original_network()
    assert fate(original) == "alive"
    mutants = [mutate(original, np.random.default_rng(seed)) for seed in range(MUTATIONS)]
    with ThreadPoolExecutor(2) as pool:
        fates = Counter(pool.map(fate, mutants))
    assert fates.total() == MUTATIONS
    # Were all of them caught by the reader, the later stages would not have been tried.
    assert fates["read"] > 20
    assert fates["alive"] > 20
