"""Small networks with the inputs and outputs of MLPerf Tiny's."""

from tests.support.networks import NetworkBuilder


def network_of(model: str) -> bytes:
    """Return a network that fits a benchmark, by the benchmark's name in the protocol."""
    return _NETWORKS[model](NetworkBuilder(model, seed=5))


def _classifier(shape: tuple[int, ...], classes: int, net: NetworkBuilder) -> bytes:
    x = net.input(shape)
    x = net.conv2d(x, 4, stride=(4, 4), activation="RELU")
    return net.build(net.softmax(net.fully_connected(x, classes)))


def _autoencoder(net: NetworkBuilder) -> bytes:
    x = net.input((1, 640), scale=0.05)
    return net.build(net.fully_connected(net.fully_connected(x, 8, "RELU"), 640))


_NETWORKS = {
    "kws01": lambda net: _classifier((1, 49, 10, 1), 12, net),
    "vww01": lambda net: _classifier((1, 96, 96, 3), 2, net),
    "ic01": lambda net: _classifier((1, 32, 32, 3), 10, net),
    "ad01": _autoencoder,
}
