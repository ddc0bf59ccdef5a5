"""uint8 networks as TensorFlow 1 trained them: the weights have one zero point per tensor."""

from tests.support.catalogue.bench import Bench
from tests.support.catalogue.cases import CASES
from tests.support.networks import NetworkBuilder

POINTS = (0, 77, 128, 151, 255)
"""Zero points of weights: the limits, the one that is 0 in int8, and those from training."""

BY_INT8_BUILDER = frozenset(
    "ADD ARG_MAX ARG_MIN BATCH_TO_SPACE_ND CONCATENATION DEPTH_TO_SPACE DEQUANTIZE EQUAL "
    "GATHER GATHER_ND GREATER GREATER_EQUAL LEAKY_RELU LESS LESS_EQUAL MAXIMUM MEAN MINIMUM "
    "MIRROR_PAD MUL NOT_EQUAL PACK PAD PADV2 QUANTIZE REDUCE_MAX REDUCE_MIN RELU RELU6 RELU_0_TO_1 "
    "RELU_N1_TO_1 RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 SELECT SELECT_V2 SLICE "
    "SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V STRIDED_SLICE SUB SUM TILE TRANSPOSE "
    "UNPACK".split()
)
"""Operators whose cases in `catalogue.cases` also work in uint8."""


def movable() -> tuple[Bench, list[int]]:
    """Return a uint8 network with every operator in `catalogue.cases`."""
    net, outputs = Bench(11), list[int]()
    for code, dtype, build in CASES.values():
        if dtype == "int8" and code in BY_INT8_BUILDER:
            outputs += build(net, "uint8")
    return net, outputs


def curves() -> tuple[Bench, list[int]]:
    """Return a network with the operators whose output has its own quantization."""
    net, outputs = Bench(12), []

    def add(code: str, x: int, scale: float, point: int, **options: object) -> int:
        return net.apply(code, x, scale=scale, zero_point=point, **options)

    for scale, point in ((0.05, 131), (0.011, 0), (0.3, 255)):
        x = net.feed((2, 9, 30), "uint8", scale=scale, zero_point=point)
        outputs += [
            add("LOGISTIC", x, 1 / 256, 0),
            add("TANH", x, 1 / 128, 128),
            add("HARD_SWISH", x, scale * 0.7, 20),
            add("GELU", x, 0.03, 60, approximate=True),
            add("GELU", x, 0.03, 60, approximate=False),
            add("SOFTMAX", x, 1 / 256, 0, beta=1.0),
            add("LOG_SOFTMAX", x, 16 / 256, 255),
            add("L2_NORMALIZATION", x, 1 / 128, 128),
            add("RELU6", x, 0.0235, 3),
        ]
    for low, high, point in ((1, 255, 0), (0, 254, 255)):  # LiteRT refuses to divide by 0
        x, y = net.feed((2, 40), "uint8"), net.feed((40,), "uint8", low, high, zero_point=point)
        outputs.append(net.apply("DIV", x, y, scale=0.03, zero_point=77))
    x, alpha = net.feed((2, 3, 4, 5), "uint8"), net.feed((1, 1, 5), "uint8", scale=0.01)
    return net, [*outputs, net.apply("PRELU", x, alpha, scale=0.03, zero_point=77)]


def layers() -> tuple[Bench, list[int]]:
    """Return a network with each weighted layer, for each zero point of the weights, and pools."""
    net, outputs = Bench(13), list[int]()
    for index, point in enumerate(POINTS):
        net.unsigned_weights_point = point
        x = net.feed((1, 9, 7, 5), "uint8", scale=0.04, zero_point=(131, 0, 255)[index % 3])
        activation = ("NONE", "RELU6")[index % 2]
        outputs += [
            net.conv2d(x, 6, (3, 2), (2, 1), activation=activation, per_channel=False),
            net.conv2d(x, 19, (1, 1), per_channel=False),
            net.conv2d(x, 4, (3, 3), padding="VALID", dilation=(2, 2), per_channel=False),
            net.depthwise(x, activation=activation, per_channel=False),
            net.depthwise(x, (5, 2), (2, 2), multiplier=2, per_channel=False),
            transpose_conv(net, x, 3, point),
            net.fully_connected(x, 10, activation=activation),
            net.average_pool(x, (3, 2), (2, 1), padding="SAME"),
            net.average_pool(x, (9, 7)),
            net.max_pool(x, (3, 3), (1, 2), padding="SAME"),
        ]
    return net, outputs


def transpose_conv(net: NetworkBuilder, x: int, channels: int, point: int) -> int:
    """Add a TRANSPOSE_CONV with stride 2 on a uint8 tensor."""
    batch, height, width, depth = net.tensors[x].shape
    weights = net.constant(
        net.random_integers((channels, 3, 3, depth), "uint8"), None, 0.005, point, 0
    )
    sizes = net.integers((batch, 2 * height, 2 * width, channels))
    more = {"stride_h": 2, "stride_w": 2, "scale": 0.06, "zero_point": 120}
    return net.apply("TRANSPOSE_CONV", sizes, weights, x, padding="SAME", **more)


def mobile(side: int = 24, seed: int = 14) -> bytes:
    """Return a small uint8 MobileNet with an inverted bottleneck and a classifier."""
    net = NetworkBuilder("mobile", seed)
    net.unsigned_weights_point = 137
    x = net.input((1, side, side, 3), "uint8", 1 / 128, 128)
    x = net.conv2d(x, 8, stride=(2, 2), activation="RELU6", per_channel=False)
    for channels, stride in ((16, 1), (16, 2), (24, 1)):
        before = x
        x = net.depthwise(x, stride=(stride, stride), activation="RELU6", per_channel=False)
        x = net.conv2d(x, channels, (1, 1), activation="NONE", per_channel=False)
        if net.tensors[before].shape == net.tensors[x].shape:
            x = net.apply("ADD", before, x, scale=0.06, zero_point=125)
    _, height, width, _ = net.tensors[x].shape
    x = net.average_pool(x, (height, width))
    x = net.conv2d(x, 10, (1, 1), per_channel=False)
    x = net.apply("RESHAPE", x, (1, 10))
    return net.build(net.softmax(x))
