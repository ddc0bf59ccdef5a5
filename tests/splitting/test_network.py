"""Cut networks: an oracle computes the same outputs from the parts as from the whole."""

import pytest

from ethosgen.splitting.network import network_of
from tests.support.split_networks import differing, random_network, random_parts


@pytest.mark.parametrize("seed", range(40))
def test_parts_of_a_random_network_equal_the_whole(seed: int) -> None:
    network = random_network(seed, "int16" if seed % 8 == 7 else "int8")
    parts, cuts = random_parts(network, seed)
    assert not differing(network, parts), cuts


def test_a_cut_network_keeps_its_ports() -> None:
    network = random_network(3)
    cut = network_of(network, random_parts(network, 5)[0]).network
    for ports, cut_ports in ((network.inputs, cut.inputs), (network.outputs, cut.outputs)):
        assert [(t.name, t.shape, t.quantization) for t in ports] == [
            (t.name, t.shape, t.quantization) for t in cut_ports
        ]
