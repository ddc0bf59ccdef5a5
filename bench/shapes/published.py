"""Layers of published networks, each named after its network.

The sizes are those of the files: MLPerf Tiny's networks, TensorFlow Lite Micro's examples and test
networks (person_detect, micro_speech, keyword_scrambled, mnist_lstm, dtln, SEANet), MobileNetV2
with a width of 0.35 for 96x96, a streaming keyword network, and two that are typical: an encoder of
a transformer, and a U-Net.
"""

from collections.abc import Iterator

from bench.shapes.shape import (
    Layer,
    concatenation,
    conv,
    curve,
    dense,
    depthwise,
    lstm,
    mean,
    pad,
    pair,
    pool,
    product,
    resized,
    softmax,
    svdf,
    transpose,
    transposed,
)

DS_CNN = (
    conv((49, 10, 1), 64, (10, 4), (2, 2)),
    depthwise((25, 5, 64)),
    conv((25, 5, 64), 64),
    pool("average", (25, 5, 64), (25, 5)),
    dense(64, 12),
    softmax(1, 12),
)
RESNET_8 = (
    conv((32, 32, 3), 16, (3, 3)),
    conv((32, 32, 16), 16, (3, 3)),
    conv((32, 32, 16), 32, (3, 3), (2, 2)),
    conv((16, 16, 32), 32, (3, 3), activation="NONE"),
    conv((32, 32, 16), 32, (1, 1), (2, 2), activation="NONE"),
    conv((16, 16, 32), 64, (3, 3), (2, 2)),
    conv((8, 8, 64), 64, (3, 3)),
    conv((16, 16, 32), 64, (1, 1), (2, 2), activation="NONE"),
    pair("ADD", (1, 32, 32, 16)),
    pair("ADD", (1, 16, 16, 32)),
    pair("ADD", (1, 8, 8, 64)),
    pool("average", (8, 8, 64), (8, 8)),
    dense(64, 10),
    softmax(1, 10),
)
_BLOCKS = (
    # size, channels in, channels out, stride of the depthwise layer
    (48, 8, 16, 1), (48, 16, 32, 2), (24, 32, 32, 1), (24, 32, 64, 2), (12, 64, 64, 1),
    (12, 64, 128, 2), (6, 128, 128, 1), (6, 128, 256, 2), (3, 256, 256, 1),
)  # fmt: skip


def _mobilenet_v1() -> Iterator[Layer]:
    yield conv((96, 96, 3), 8, (3, 3), (2, 2))
    for size, depth, channels, stride in _BLOCKS:
        yield depthwise((size, size, depth), (3, 3), (stride, stride))
        yield conv((size // stride, size // stride, depth), channels)
    yield pool("average", (3, 3, 256), (3, 3))
    yield dense(256, 2)
    yield softmax(1, 2)


PERSON_DETECT = (
    depthwise((96, 96, 1), (3, 3), (2, 2), multiplier=8),
    conv((1, 1, 256), 2, activation="NONE"),
)
_BOTTLENECKS = (
    # size, channels in, expanded, channels out, stride, with a residual
    (24, 8, 48, 8, 1, True), (24, 8, 48, 16, 2, False), (12, 16, 96, 16, 1, True),
    (12, 16, 96, 24, 2, False), (6, 24, 144, 24, 1, True), (6, 24, 144, 32, 1, False),
    (6, 32, 192, 56, 2, False), (3, 56, 336, 56, 1, True), (3, 56, 336, 112, 1, False),
)  # fmt: skip


def _mobilenet_v2() -> Iterator[Layer]:
    yield conv((96, 96, 3), 16, (3, 3), (2, 2), activation="RELU6")
    yield depthwise((48, 48, 16), activation="RELU6")
    yield conv((48, 48, 16), 8, activation="NONE")
    yield pad((48, 48, 48), [(0, 1), (0, 1), (0, 0)])
    for size, depth, wide, channels, stride, has_residual in _BOTTLENECKS:
        small = size // stride
        yield conv((size, size, depth), wide, activation="RELU6")
        yield depthwise((size, size, wide), (3, 3), (stride, stride), activation="RELU6")
        yield conv((small, small, wide), channels, activation="NONE")
        if has_residual:
            yield pair("ADD", (1, size, size, channels))
    yield conv((3, 3, 112), 1280, activation="RELU6")
    yield mean((3, 3, 1280))
    yield dense(1280, 10)


AUTOENCODER = (
    dense(640, 128, activation="RELU"),
    dense(128, 128, activation="RELU"),
    dense(128, 8, activation="RELU"),
    dense(8, 128, activation="RELU"),
    dense(128, 640),
)
STREAMING_WINDOWS = (3, 5, 10, 15)
"""The heights of the streaming keyword network's depthwise windows, over maps of width 1."""


def _streaming_keywords() -> Iterator[Layer]:
    for channels in (40, 128):
        for window in STREAMING_WINDOWS:
            yield depthwise((window, 1, channels), (window, 1), padding="VALID", activation="NONE")
            yield depthwise((49, 1, channels), (window, 1), padding="VALID", activation="NONE")
    for rows in (1, 47):
        yield conv((rows, 1, 40), 128)
        yield conv((rows, 1, 128), 128)
    yield dense(128, 12)


MICRO_SPEECH = (
    depthwise((49, 40, 1), (10, 8), (2, 2), multiplier=8),
    dense(4000, 4),
    softmax(1, 4),
)
KEYWORD_SCRAMBLED = (
    svdf(96, 64, 8),
    svdf(16, 64, 8),
    svdf(16, 32, 32),
    svdf(32, 32, 32),
    dense(64, 16),
    dense(32, 2),
)
MNIST_LSTM = (lstm(28, 28, 20), dense(560, 10))
DTLN = (
    lstm(1, 257, 128),
    lstm(1, 128, 128),
    dense(128, 257),
    curve("LOGISTIC", (1, 1, 257)),
    pair("MUL", (1, 1, 257)),
)
SEANET = (
    conv((8, 166, 2), 8, (7, 7), padding="VALID", activation="NONE"),
    conv((4, 162, 8), 8, (3, 3), padding="VALID", activation="NONE"),
    conv((4, 82, 16), 16, (3, 3), padding="VALID", activation="NONE"),
    conv((4, 82, 16), 32, (4, 4), (2, 2), "VALID", activation="NONE"),
    conv((3, 42, 32), 32, (3, 4), (1, 2), "VALID", activation="NONE"),
    conv((3, 12, 64), 64, (3, 3), padding="VALID", activation="NONE"),
    conv((1, 10, 64), 32, activation="NONE"),
    transposed((1, 5, 64), 64, (3, 4), (1, 2), "VALID"),
    transposed((1, 10, 64), 32, (3, 4), (1, 2), "VALID"),
    transposed((1, 20, 32), 32, (3, 4), (1, 2), "VALID"),
    transposed((1, 40, 32), 16, (4, 4), (2, 2), "VALID"),
    transposed((2, 80, 16), 8, (3, 4), (1, 2), "VALID"),
    pad((1, 40, 32), [(2, 0), (1, 1), (0, 0)]),
    pair("ADD", (1, 2, 80, 16)),
)
TRANSFORMER = (
    # An encoder of MobileBERT's kind, for 32 words of 4 heads with 32 features.
    product(4, 32, 32, 32, is_turned=True),
    product(4, 32, 32, 32),
    softmax(128, 32),
    transpose((1, 32, 4, 32), (0, 2, 1, 3)),
    dense(128, 128, rows=32),
    dense(128, 512, rows=8, activation="RELU"),
    pair("ADD", (1, 32, 128), (1, 1, 128)),
)
U_NET = (
    # A small network for segmentation: it shrinks an image, grows it, and joins the two.
    conv((32, 32, 1), 8, (3, 3)),
    pool("max", (32, 32, 8), (2, 2)),
    conv((16, 16, 8), 16, (3, 3)),
    transposed((16, 16, 16), 8, (2, 2), (2, 2)),
    concatenation([(32, 32, 8), (32, 32, 8)]),
    resized("BILINEAR", (16, 16, 16), 32, 32, is_centred=True),
    resized("NEAREST_NEIGHBOR", (16, 16, 16), 32, 32),
    curve("LOGISTIC", (1, 32, 32, 1)),
)

NETWORKS = {
    "ds-cnn": DS_CNN,
    "resnet-8": RESNET_8,
    "mobilenet-v1": tuple(_mobilenet_v1()),
    "person-detect": PERSON_DETECT,
    "mobilenet-v2": tuple(_mobilenet_v2()),
    "autoencoder": AUTOENCODER,
    "streaming-keywords": tuple(_streaming_keywords()),
    "micro-speech": MICRO_SPEECH,
    "keyword-scrambled": KEYWORD_SCRAMBLED,
    "mnist-lstm": MNIST_LSTM,
    "dtln": DTLN,
    "seanet": SEANET,
    "transformer": TRANSFORMER,
    "u-net": U_NET,
}
