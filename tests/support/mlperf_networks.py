"""Small networks with the inputs and outputs of MLPerf Tiny's."""

from collections.abc import Callable

from tests.support.networks import NetworkBuilder


def network_of(model: str) -> bytes:
    """Return a network that fits a benchmark, by the benchmark's name in the protocol."""
    return _NETWORKS[model](NetworkBuilder(model, seed=5))


def _classifier(
    shape: tuple[int, ...],
    classes: int,
    net: NetworkBuilder,
    scale: float = 0.05,
    zero_point: int = 3,
) -> bytes:
    x = net.input(shape, scale=scale, zero_point=zero_point)
    x = net.conv2d(x, 4, stride=(4, 4), activation="RELU")
    return net.build(net.softmax(net.fully_connected(x, classes)))


def _autoencoder(net: NetworkBuilder) -> bytes:
    x = net.input((1, 640), scale=0.05)
    return net.build(net.fully_connected(net.fully_connected(x, 8, "RELU"), 640))


_NETWORKS: dict[str, Callable[[NetworkBuilder], bytes]] = {
    "kws01": lambda net: _classifier((1, 49, 10, 1), 12, net),
    "vww01": lambda net: _classifier((1, 96, 96, 3), 2, net),
    "ic01": lambda net: _classifier((1, 32, 32, 3), 10, net),
    "ad01": _autoencoder,
    "sww01": lambda net: _classifier((1, 30, 1, 40), 3, net, 1 / 270, -128),
}
