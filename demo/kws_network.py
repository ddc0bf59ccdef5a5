"""The demo's network for keywords: 48 hops of 40 features in, a probability for each label out.

Convolutions run along time only, and the features of a hop are channels, as in TC-ResNet (Choi et
al., arXiv 1904.03814): much cheaper than convolutions in two dimensions.
"""

import numpy as np
from convnet import Array, Conv, Dense, Depthwise, Flatten, Layer, Pool, Reshape
from kws_front_end import CHANNELS
from kws_speech import WORDS
from quantize import NetworkSpec, TensorSpec, quantize_network

HOPS = 48
"""Hops in the network's input: 48 windows, 20 ms apart, cover 0.97 s."""
LABELS = ["silence", "unknown", *WORDS]


def keyword_network(rng: np.random.Generator) -> list[Layer]:
    """Return the network, untrained: [n, 48, 40] in, logits [n, labels] out."""
    return [
        Reshape(HOPS, 1, CHANNELS),
        Conv(rng, (3, 1), CHANNELS, 48),
        Pool("max", (2, 1)),
        Depthwise(rng, (5, 1), 48),
        Conv(rng, 1, 48, 64),
        Pool("max", (2, 1)),
        Depthwise(rng, (5, 1), 64),
        Conv(rng, 1, 64, 64),
        Pool("max", (2, 1)),
        Depthwise(rng, (5, 1), 64),
        Conv(rng, 1, 64, 64),
        Pool("mean", (6, 1)),
        Flatten(),
        Dense(rng, 64, len(LABELS)),
    ]


def real(features: Array) -> Array:
    """Return int8 features as float32 in 0..1."""
    return (features.astype(np.float32) + 128) / 256


def quantized(layers: list[Layer], calibration: Array) -> NetworkSpec:
    """Return the int8 network; `calibration` is int8 [n, 48, 40] from the front end."""
    source = TensorSpec("features", (1, HOPS, CHANNELS), "int8", (1 / 256,), (-128,))
    return quantize_network(layers, real(calibration), source, "scores")
