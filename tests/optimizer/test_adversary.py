"""Public networks, and random ones, under samples that drive inner sums outwards."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen.frontend import read
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.optimizer import optimize
from ethosgen.oracle.answers import Question, answer
from ethosgen.values.network import Network
from ethosgen.values.outcome import equal_elements
from tests import ROOT
from tests.optimizer.adversary import Adversary
from tests.support.needs import needs_models
from tests.support.networks import NetworkBuilder
from tests.support.small_models import SHARED_MODELS
from tests.support.thinned_networks import thinned_network

ROUNDS = 8


def attack(network: Network, rounds: int = ROUNDS) -> int:
    """Compare the optimized network on all samples of a search; return their number."""
    optimized = optimize(network)
    assert optimized is not None
    adversary = Adversary(network)
    adversary.search(rounds)
    changed = replace(optimized.network, source=None)
    ours, theirs = (
        answer(Question(each, adversary.samples)).outputs for each in (changed, network)
    )
    for our, their in zip(ours, theirs, strict=True):
        assert all(equal_elements(our[name], array).all() for name, array in their.items())
    return len(adversary.samples)


def test_the_search_moves_sums_outwards() -> None:
    net = NetworkBuilder("deep", seed=1)
    x = net.conv2d(net.input((1, 6, 6, 3)), 4, activation="RELU")
    network = decode_network(net.build(net.conv2d(x, 4)), "deep")
    adversary = Adversary(network)
    adversary.search(0)
    before = {key: value for key, (value, _) in adversary.best.items()}
    adversary.search(20)
    after = {key: value for key, (value, _) in adversary.best.items()}
    assert sum(after[key] > before[key] for key in before) > 0.2 * len(before)
    assert max(np.abs(list(after.values()))) < 127, "the probe clips nothing"


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_random_networks_stay_equal(seed: int) -> None:
    assert attack(decode_network(thinned_network(seed), f"thinned_{seed}"), 3) > 30


@pytest.mark.parametrize("name", ["digits_int8", "kws_int8"])
def test_the_demos_stay_equal(name: str) -> None:
    attack(read(ROOT / "demo" / f"{name}.tflite"))


@pytest.mark.slow
@needs_models
@pytest.mark.parametrize("name", ["vww_mobilenet_int8", "person_detect_int8", "hello_world_int8"])
def test_public_networks_stay_equal(name: str) -> None:
    path: Path = SHARED_MODELS / f"{name}.tflite"
    attack(read(path), 30)
