"""uint8 networks as TensorFlow 1 trained them: the weights have one zero point per tensor."""

import numpy as np

from tests.support.networks import NetworkBuilder, Spec
from tests.support.operator_bench import Bench
from tests.support.operator_cases import CASES

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
"""Operators whose cases in operator_cases also work in uint8."""


def movable() -> tuple[Bench, list[int]]:
    """Return a uint8 network with every operator in operator_cases."""
    net, outputs = Bench(11), list[int]()
    for code, dtype, build in CASES.values():
        if dtype == "int8" and code in BY_INT8_BUILDER:
            outputs += build(net, "uint8")
    return net, outputs


def curves() -> tuple[Bench, list[int]]:
    """Return a network with the operators whose output has its own quantization."""
    net, outputs = Bench(12), []

    def make(code: str, x: int, scale: float, point: int, **options: object) -> int:
        spec = Spec(net.tensors[x].shape, "uint8", scale, point)
        return net.operator(code, [x], [spec], options)[0]

    for scale, point in ((0.05, 131), (0.011, 0), (0.3, 255)):
        x = net.given((2, 9, 30), "uint8", scale=scale, zero_point=point)
        outputs += [
            make("LOGISTIC", x, 1 / 256, 0),
            make("TANH", x, 1 / 128, 128),
            make("HARD_SWISH", x, scale * 0.7, 20),
            make("GELU", x, 0.03, 60, approximate=True),
            make("GELU", x, 0.03, 60, approximate=False),
            make("SOFTMAX", x, 1 / 256, 0, beta=1.0),
            make("LOG_SOFTMAX", x, 16 / 256, 255),
            make("L2_NORMALIZATION", x, 1 / 128, 128),
            make("RELU6", x, 0.0235, 3),
        ]
    for low, high, point in ((1, 255, 0), (0, 254, 255)):  # LiteRT refuses to divide by 0
        x, y = net.given((2, 40), "uint8"), net.given((40,), "uint8", low, high, zero_point=point)
        outputs += net.operator("DIV", [x, y], [Spec((2, 40), "uint8", 0.03, 77)])
    x, alpha = net.given((2, 3, 4, 5), "uint8"), net.given((1, 1, 5), "uint8", scale=0.01)
    spec = Spec((2, 3, 4, 5), "uint8", 0.03, 77)
    return net, [*outputs, *net.operator("PRELU", [x, alpha], [spec])]


def layers() -> tuple[Bench, list[int]]:
    """Return a network with each weighted layer, for each zero point of the weights, and pools."""
    net, outputs = Bench(13), list[int]()
    for index, point in enumerate(POINTS):
        net.unsigned_weights_point = point
        x = net.given((1, 9, 7, 5), "uint8", scale=0.04, zero_point=(131, 0, 255)[index % 3])
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
    shape = (batch, 2 * height, 2 * width, channels)
    sizes = net.constant(np.array(shape, np.int32))
    options = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    spec = Spec(shape, "uint8", 0.06, 120)
    return net.operator("TRANSPOSE_CONV", [sizes, weights, x], [spec], options)[0]


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
            x = net.operator("ADD", [before, x], [Spec(net.tensors[x].shape, "uint8", 0.06, 125)])[
                0
            ]
    _, height, width, _ = net.tensors[x].shape
    x = net.average_pool(x, (height, width))
    x = net.conv2d(x, 10, (1, 1), per_channel=False)
    shape = net.constant(np.array([1, 10], np.int32))
    like = net.tensors[x]
    (x,) = net.operator(
        "RESHAPE", [x, shape], [Spec((1, 10), "uint8", like.scale, like.zero_point)]
    )
    (x,) = net.operator("SOFTMAX", [x], [Spec((1, 10), "uint8", 1 / 256, 0)], {"beta": 1.0})
    return net.build(x)
