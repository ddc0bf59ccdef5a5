"""Whole networks of TOSA's operators, from public definitions, with random weights.

Residual additions rescale both int8 inputs to int32 and back, as TOSA's exporters write them.
"""

from collections.abc import Sequence

import numpy as np

from tests.support.tosa_networks import TosaBuilder

_GAIN = 40.0
"""A layer's int8 outputs have about this standard deviation."""


def _same(size: int, taps: int, stride: int) -> tuple[int, int]:
    """Return SAME padding that leaves no rest, as TOSA requires."""
    out = -(-size // stride)
    whole = (out - 1) * stride + taps - size
    before = max(whole, 0) // 2
    return before, whole - before


def layer(
    net: TosaBuilder,
    x: int,
    channels: int,
    taps: tuple[int, int],
    stride: int = 1,
    *,
    depthwise: bool = False,
    relu: bool = True,
) -> int:
    """Add a convolution with its rescaling for each channel, and a clamp for RELU."""
    _, h, w, c = net.tensors[x].shape
    (top, bottom), (left, right) = _same(h, taps[0], stride), _same(w, taps[1], stride)
    low = min(bottom, right, 0)
    assert low == 0, "the window leaves a rest"
    pad = (top, bottom, left, right)
    if depthwise:
        out = net.slid((h, w), taps, pad, (stride, stride), (1, 1))
        sums = net.layer(
            "DEPTHWISE_CONV2D", x, (*taps, c, 1), (1, *out, c), biases=c, zero_point=-3,
            pad=pad, stride=(stride, stride), dilation=(1, 1),
        )  # fmt: skip
        products, channels = taps[0] * taps[1], c
    else:
        sums = net.conv2d(x, channels, taps, pad=pad, stride=(stride, stride), zero_point=-3)
        products = taps[0] * taps[1] * c
    scale = _GAIN / (74 * 40 * products**0.5)
    factors = [scale * float(f) for f in net.random.uniform(0.7, 1.4, channels)]
    sums = net.rescale(sums, "int8", factors, output_zp=-3)
    return clamp(net, sums, -3, 127) if relu else sums


def clamp(net: TosaBuilder, x: int, low: int, high: int) -> int:
    """Add a CLAMP of int8."""
    bounds = (tuple(np.int8(bound).tobytes()) for bound in (low, high))
    least, most = bounds
    shape = net.tensors[x].shape
    return net.op("CLAMP", [x], shape, "int8", min_val=least, max_val=most, nan_mode="PROPAGATE")


def added(net: TosaBuilder, first: int, second: int) -> int:
    """Add two int8 tensors in int32, and rescale the sum."""
    shape = net.tensors[first].shape
    wide = [net.rescale(x, "int32", float(1 << 10), input_zp=-3) for x in (first, second)]
    total = net.op("ADD", wide, shape, "int32")
    return net.rescale(total, "int8", 0.7 / (1 << 10), output_zp=-3)


def reshaped(net: TosaBuilder, x: int, shape: Sequence[int]) -> int:
    """Add a RESHAPE."""
    return net.op("RESHAPE", [x, net.constant(list(shape), "int64")], shape, "int8")


def averaged(net: TosaBuilder, x: int) -> int:
    """Add a global AVG_POOL2D."""
    _, h, w, c = net.tensors[x].shape
    points = [net.constant([-3], "int8"), net.constant([-3], "int8")]
    return net.op(
        "AVG_POOL2D", [x, *points], (1, 1, 1, c), "int8", kernel=(h, w), stride=(h, w),
        pad=(0, 0, 0, 0), acc_type="int32",
    )  # fmt: skip


def ds_cnn(seed: int = 1) -> TosaBuilder:
    """Return the DS-CNN for keywords of MLPerf Tiny (49 x 10 features), with fewer channels."""
    net = TosaBuilder("ds_cnn", seed)
    x = layer(net, net.input((1, 49, 11, 1)), 16, (9, 3), 2)
    for _ in range(3):
        x = layer(net, x, 0, (3, 3), depthwise=True)
        x = layer(net, x, 16, (1, 1))
    x = layer(net, averaged(net, x), 12, (1, 1), relu=False)
    reshaped(net, x, (1, 12))
    return net


def resnet(seed: int = 1) -> TosaBuilder:
    """Return a ResNet with three stacks like MLPerf Tiny's ResNet-8, on 17 x 17 images."""
    net = TosaBuilder("resnet", seed)
    x = layer(net, net.input((1, 17, 17, 3)), 8, (3, 3))
    for channels, stride in ((8, 1), (16, 2), (32, 2)):
        y = layer(net, x, channels, (3, 3), stride)
        y = layer(net, y, channels, (3, 3), relu=False)
        shortcut = x if stride == 1 else layer(net, x, channels, (1, 1), stride, relu=False)
        x = clamp(net, added(net, y, shortcut), -3, 127)
    x = layer(net, averaged(net, x), 10, (1, 1), relu=False)
    reshaped(net, x, (1, 10))
    return net


def gated(seed: int = 1) -> TosaBuilder:
    """Return layers on both sides of operators that Vela refuses: a mask, and a GATHER of rows."""
    net = TosaBuilder("gated", seed)
    x = layer(net, net.input((1, 9, 9, 4)), 8, (3, 3))
    shape = net.tensors[x].shape
    wide = net.rescale(x, "int32", 1.0, input_zp=-3)
    mask = net.op("GREATER", [wide, net.constant(np.full((1, 1, 1, 1), 5), "int32")], shape, "bool")
    other = layer(net, x, 8, (3, 3))
    x = net.op("SELECT", [mask, x, other], shape, "int8")
    x = layer(net, x, 6, (3, 3), 2)
    x = reshaped(net, x, (1, 25, 6))
    rows = net.input((1, 7), "int32", 0, 24)
    x = net.op("GATHER", [x, rows], (1, 7, 6), "int8")
    x = reshaped(net, x, (1, 1, 7, 6))
    reshaped(net, layer(net, x, 5, (1, 1), relu=False), (1, 35))
    return net


MODELS = {"ds_cnn": ds_cnn, "resnet": resnet, "gated": gated}
"""By name; `gated` needs several partitions."""

_SHAPE = (1, 5, 5, 4)


class _Wild:
    """A random network that grows by operators; `narrow` and `wide` are int8 and int32 tensors."""

    def __init__(self, seed: int) -> None:
        self.net = net = TosaBuilder(f"wild_{seed}", seed)
        self.narrow = [net.input(_SHAPE) for _ in range(int(net.random.integers(1, 3)))]
        self.wide: list[int] = []

    def pick(self, tensors: Sequence[int]) -> int:
        return tensors[int(self.net.random.integers(len(tensors)))]

    def grow(self) -> None:
        """Add an operator or a few; BITWISE_XOR, BITWISE_NOT and SELECT are not for the NPU."""
        net, x = self.net, self.pick(self.narrow)
        kind = int(net.random.integers(10 if self.wide else 6))
        if kind == 0:
            self.narrow.append(layer(net, x, 4, (3, 3), relu=bool(net.random.integers(2))))
        elif kind == 1:
            self.narrow.append(layer(net, x, 0, (3, 3), depthwise=True))
        elif kind == 2:
            self.wide.append(net.rescale(x, "int32", 1000.0, input_zp=-3))
        elif kind == 3:
            self.narrow.append(added(net, x, self.pick(self.narrow)))
        elif kind == 4:
            other = self.pick(self.narrow)
            self.narrow.append(net.op("BITWISE_XOR", [x, other], _SHAPE, "int8"))
        elif kind == 5:
            axis = int(net.random.integers(4))
            self.narrow.append(net.op("REVERSE", [x], _SHAPE, "int8", axis=axis))
        elif kind == 6:
            self.narrow.append(net.rescale(self.pick(self.wide), "int8", 0.001))
        elif kind == 7:
            mask = net.op("GREATER", [self.wide[-1], self.wide[0]], _SHAPE, "bool")
            self.narrow.append(net.op("SELECT", [mask, x, self.narrow[-1]], _SHAPE, "int8"))
        else:
            name = ("ABS", "CLZ", "BITWISE_NOT")[int(net.random.integers(3))]
            self.wide.append(net.op(name, [self.pick(self.wide)], _SHAPE, "int32"))


def wild(seed: int) -> tuple[TosaBuilder, list[int]]:
    """Return a random network, and its outputs: what nothing reads, and a few others."""
    grown = _Wild(seed)
    net = grown.net
    for _ in range(int(net.random.integers(4, 14))):
        grown.grow()
    written = [i for op in net.operators for i in op.outputs]
    read = {i for op in net.operators for i in op.inputs}
    return net, [i for i in written if i not in read or net.random.random() < 0.1]
