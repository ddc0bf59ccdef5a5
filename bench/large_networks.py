"""Networks larger than small elements: published shapes with random int8 weights."""

import numpy as np

from tests.support.networks import NetworkBuilder

_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""ResNet-50's channels within a bottleneck, repetitions, stride of the first (He et al., 2015)."""
_EXPANSION = 4


def resnet_50() -> bytes:
    """Return ResNet-50 for 224x224: 4.1 billion multiplications, 25.5 million weights."""
    net = NetworkBuilder("resnet_50", seed=50)
    x = net.conv2d(net.input((1, 224, 224, 3)), 64, (7, 7), (2, 2), activation="RELU")
    x = net.max_pool(x, (3, 3), (2, 2), padding="SAME")
    for channels, repetitions, stride in _STAGES:
        for index in range(repetitions):
            x = _bottleneck(net, x, channels, stride if index == 0 else 1)
    x = net.reshape(net.mean(x), (1, 2048))
    return net.build(net.softmax(net.fully_connected(x, 1000)))


def _bottleneck(net: NetworkBuilder, x: int, channels: int, stride: int) -> int:
    """Add a bottleneck, with the stride in its 3x3 layer."""
    wide = channels * _EXPANSION
    y = net.conv2d(x, channels, (1, 1), activation="RELU")
    y = net.conv2d(y, channels, (3, 3), (stride, stride), activation="RELU")
    y = net.conv2d(y, wide, (1, 1))
    if net.tensors[x].shape[3] != wide:
        x = net.conv2d(x, wide, (1, 1), (stride, stride))
    return net.add(x, y, activation="RELU")


def transformer(layers: int = 12, tokens: int = 128, width: int = 384, heads: int = 12) -> bytes:
    """Return an encoder, by default with MiniLM-L12-H384's sizes (Wang et al., 2020).

    It reads embeddings: 21 million weights, 2.9 billion multiplications.
    """
    net = NetworkBuilder("transformer", seed=12)
    x = net.input((1, tokens, width))
    for _ in range(layers):
        x = _normalized(net, net.add(x, _attention(net, x, heads)))
        y = net.fully_connected(x, 4 * width, keep_num_dims=True)
        y = net.fully_connected(net.unary("HARD_SWISH", y), width, keep_num_dims=True)
        x = _normalized(net, net.add(x, y))
    return net.build(x)


def _attention(net: NetworkBuilder, x: int, heads: int) -> int:
    _, tokens, width = net.tensors[x].shape
    each = width // heads

    def split() -> int:
        y = net.fully_connected(x, width, keep_num_dims=True)
        return net.transpose(net.reshape(y, (1, tokens, heads, each)), (0, 2, 1, 3))

    queries, keys, values = split(), split(), split()
    scores = net.softmax(net.apply("BATCH_MATMUL", queries, keys, adj_y=True, scale=0.1))
    y = net.apply("BATCH_MATMUL", scores, values, scale=0.05, zero_point=0)
    y = net.reshape(net.transpose(y, (0, 2, 1, 3)), (1, tokens, width))
    return net.fully_connected(y, width, keep_num_dims=True)


def _normalized(net: NetworkBuilder, x: int) -> int:
    """Normalize each token: mean 0 and deviation 1, then a gain and an offset for each channel."""
    width = net.tensors[x].shape[-1]
    centred = net.sub(x, net.mean(x, (2,)))
    square = net.mul(centred, centred, zero_point=-128)
    deviation = net.unary("RSQRT", net.mean(square, (2,)), scale=0.02, zero_point=-128)
    y = net.mul(centred, deviation, scale=0.05, zero_point=0)
    rng = np.random.default_rng(width)
    gain = net.constant(rng.integers(1, 127, width), "int8", 0.01)
    offset = net.constant(rng.integers(-127, 127, width), "int8", 0.01)
    return net.add(net.mul(y, gain), offset)
