"""Network files for the tests of the whole flow."""

from pathlib import Path

from tests import ROOT
from tests.support.catalogue.recurrent import lstm
from tests.support.networks import NetworkBuilder

SHARED_MODELS = ROOT.parent / "shared" / "models"
"""Public networks; not every machine has them."""


def image_net(path: Path) -> Path:
    """Write a small image classifier: convolutions, a pool, a reshape, a softmax."""
    net = NetworkBuilder("image_net", seed=7)
    x = net.input((1, 8, 8, 3), name="image")
    x = net.conv2d(x, channels=8, kernel=(3, 3), activation="RELU")
    x = net.depthwise(x, kernel=(3, 3), stride=(2, 2))
    x = net.average_pool(x, (4, 4))
    x = net.reshape(x, (1, 8))
    x = net.fully_connected(x, 4)
    path.write_bytes(net.build(net.softmax(x)))
    return path


def two_inputs(path: Path) -> Path:
    """Write a network with two inputs and two outputs."""
    net = NetworkBuilder("two_inputs", seed=9)
    a = net.input((1, 4, 4, 8), name="left")
    b = net.input((1, 4, 4, 8), name="right", scale=0.02)
    total = net.add(a, b)
    path.write_bytes(net.build(total, net.max_pool(total, (2, 2))))
    return path


def recurrent_net(path: Path) -> Path:
    """Write a network with a state: an LSTM, with layers before and after it."""
    net = NetworkBuilder("recurrent_net", seed=5)
    x = net.quantize(net.input((1, 4, 8), scale=0.02), "int8", 0.015, -4)
    path.write_bytes(net.build(net.relu(lstm(net, x, 10))))
    return path


def product(path: Path) -> Path:
    """Write a product of two inputs of odd sizes, which the NPU copies 16 bytes at a time."""
    net = NetworkBuilder("product", seed=3)
    x, y = net.input((5, 7), name="left"), net.input((3, 7), name="right", scale=0.03)
    path.write_bytes(
        net.build(net.apply("BATCH_MATMUL", x, y, adj_y=True, scale=0.5, zero_point=1))
    )
    return path
