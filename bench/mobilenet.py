"""MobileNetV2 1.0 at 224x224 (Sandler et al., table 2) with random weights, in int8."""

import dataclasses

import numpy as np

from tests.support.networks import NetworkBuilder

NAME = "mobilenet_v2_224"
_BLOCKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, repetitions, stride of the first."""


SCALE = 0.05
"""The scale of every feature map: weights are scaled so that values neither saturate nor vanish."""
LOGITS_SCALE = 0.4
"""Large, as in a trained network: an assertion in TFLite Micro's softmax fails if more than about
256 of 1,000 classes are about equally likely, since it would divide by more than 2**31."""


def build(
    channels_first: bool = False, seed: int = 1, size: int = 224, softmax: bool = True
) -> bytes:
    """Return the .tflite file's bytes: 300 million multiplications, 3.5 million weights.

    `channels_first` makes the input NCHW, followed by a TRANSPOSE, as converters from PyTorch do.
    `size` is the image's height and width; without `softmax` the outputs are the logits.
    """
    net = NetworkBuilder(NAME, seed)
    x = net.input((1, 3, size, size) if channels_first else (1, size, size, 3))
    if channels_first:
        x = net.transpose(x, (0, 2, 3, 1))
    x = net.conv2d(x, 32, (3, 3), (2, 2), activation="RELU6")
    x = _rescaled(net, x)
    for expansion, channels, repetitions, stride in _BLOCKS:
        for index in range(repetitions):
            x = _bottleneck(net, x, expansion, channels, stride if index == 0 else 1)
    x = _rescaled(net, net.conv2d(x, 1280, (1, 1), activation="RELU6"))
    x = net.reshape(net.mean(x), (1, 1280))
    x = _rescaled(net, net.fully_connected(x, 1000), LOGITS_SCALE)
    return net.build(net.softmax(x) if softmax else x)


def _bottleneck(net: NetworkBuilder, x: int, expansion: int, channels: int, stride: int) -> int:
    depth = net.tensors[x].shape[3]
    y = x
    if expansion > 1:
        y = _rescaled(net, net.conv2d(y, depth * expansion, (1, 1), activation="RELU6"))
    y = _rescaled(net, net.depthwise(y, stride=(stride, stride), activation="RELU6"))
    y = _rescaled(net, net.conv2d(y, channels, (1, 1)))
    return net.add(x, y, scale=SCALE) if stride == 1 and depth == channels else y


def _rescaled(net: NetworkBuilder, x: int, scale: float = SCALE) -> int:
    """Divide the scales of a layer's weights and biases, so that its output has `scale`."""
    gain = _first(net.tensors[x].scale) / scale
    _, weights, bias = net.operators[-1].inputs
    for index in (weights, bias):
        spec = net.tensors[index]
        scales = spec.scale if isinstance(spec.scale, tuple) else (_first(spec.scale),)
        scaled = tuple(float(np.float32(scale / gain)) for scale in scales)
        net.tensors[index] = dataclasses.replace(spec, scale=scaled)
    net.tensors[x] = dataclasses.replace(net.tensors[x], scale=scale)
    return x


def _first(scale: float | tuple[float, ...] | None) -> float:
    if isinstance(scale, tuple):
        return scale[0]
    return 1.0 if scale is None else scale
