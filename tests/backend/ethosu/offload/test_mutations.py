"""Two hundred damaged networks: each ends in a plan and golden outputs, or in one sentence."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload, vela
from ethosgen.backend.ethosu.stream import scratch_bytes
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.errors import EthosgenError
from tests.support.networks import NetworkBuilder

MUTATIONS = 200
EXTREMES = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x00FFFFFF, 0x00010000)


def original_network() -> bytes:
    net = NetworkBuilder("victim", seed=5)
    x = net.conv2d(net.input((1, 8, 8, 4)), 8, activation="RELU")
    x = net.max_pool(net.depthwise(x, stride=(2, 2)), (2, 2))
    x = net.add(net.conv2d(x, 8, (1, 1)), x)
    net.softmax(net.fully_connected(x, 10))
    return net.build()


def mutate(data: bytes, random: np.random.Generator) -> bytes:
    """Flip bits, cut the end off, zero or scramble a range, or replace a word by a huge value."""
    damaged = bytearray(data)
    place = int(random.integers(len(data)))
    length = int(random.integers(1, 64))
    match int(random.integers(5)):
        case 0:
            for bit in random.integers(8 * len(data), size=int(random.integers(1, 9))):
                damaged[bit // 8] ^= 1 << bit % 8
        case 1:
            del damaged[place:]
        case 2:
            damaged[place : place + length] = bytes(len(damaged[place : place + length]))
        case 3:
            damaged[place : place + length] = random.bytes(len(damaged[place : place + length]))
        case _:
            word = place // 4 * 4
            damaged[word : word + 4] = int(random.choice(EXTREMES)).to_bytes(4, "little")
    return bytes(damaged)


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
def test_every_mutation_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vela, "LIMIT_S", 10.0)
    original = original_network()
    assert fate(original) == "alive"
    mutants = [mutate(original, np.random.default_rng(seed)) for seed in range(MUTATIONS)]
    with ThreadPoolExecutor(2) as pool:
        fates = Counter(pool.map(fate, mutants))
    assert fates.total() == MUTATIONS
    # Were all of them caught by the reader, the later stages would not have been tried.
    assert fates["read"] > 20
    assert fates["alive"] > 20
