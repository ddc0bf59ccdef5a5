"""Layers of sizes drawn at random, the same ones each time for a seed."""

import random
from collections.abc import Callable, Iterator

from bench.shapes.shape import (
    Layer,
    Pair,
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

Draw = Callable[[random.Random], Layer]

STORED_SEED = 16
"""The seed of the layers whose figures are stored."""
_SIZES = (1, 2, 3, 5, 6, 7, 8, 10, 12, 16, 20, 24)
_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)
_FEW, _MANY = _CHANNELS[:10], _CHANNELS[5:]
_WINDOWS: tuple[Pair, ...] = (
    (1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (2, 2), (1, 3), (3, 1), (1, 7), (9, 1), (10, 4), (4, 4),
)  # fmt: skip
_MOST_PRODUCTS = 1_500_000
"""A drawn layer has at most so many: larger ones only repeat their inner loops."""


def _size(rng: random.Random, kernel: Pair, channels: tuple[int, ...]) -> tuple[int, int, int]:
    """Draw an image at least as large as the window."""
    height, width = (max(rng.choice(_SIZES), size) for size in kernel)
    return height, width, rng.choice(channels)


def _step(rng: random.Random) -> Pair:
    return rng.choice(((1, 1), (1, 1), (1, 1), (2, 2), (2, 2), (1, 2), (2, 1), (3, 3)))


def _padding(rng: random.Random) -> str:
    return rng.choice(("SAME", "VALID"))


def _conv(rng: random.Random) -> Layer:
    while True:
        kernel = rng.choice(_WINDOWS)
        size, channels = _size(rng, kernel, _CHANNELS), rng.choice(_CHANNELS)
        taps = kernel[0] * kernel[1] * size[2]
        if size[0] * size[1] * taps * channels <= _MOST_PRODUCTS:
            return conv(size, channels, kernel, _step(rng), _padding(rng))


def _first(rng: random.Random) -> Layer:
    kernel = rng.choice(((3, 3), (5, 5), (7, 7), (10, 4), (1, 5), (8, 1)))
    height, width = max(rng.choice((16, 24, 32)), kernel[0]), rng.choice((1, 10, 16, 32))
    size = height, max(width, kernel[1]), rng.choice((1, 2, 3, 4))
    return conv(size, rng.choice((4, 8, 10, 16)), kernel, _step(rng), _padding(rng))


def _grouped(rng: random.Random) -> Layer:
    groups = rng.choice((2, 3, 4, 8))
    kernel = rng.choice(((1, 1), (3, 3), (3, 1)))
    height, width, _ = _size(rng, kernel, (1,))
    depth, channels = groups * rng.choice((1, 2, 4, 8, 12)), groups * rng.choice((1, 2, 4, 8))
    return conv((height, width, depth), channels, kernel, groups=groups)


def _dilated(rng: random.Random) -> Layer:
    kernel = rng.choice(((3, 3), (3, 1), (1, 3), (2, 2)))
    dilation = rng.choice(((2, 2), (1, 2), (2, 1), (4, 4)))
    size = rng.choice((10, 14, 20)), rng.choice((10, 12, 16)), rng.choice((4, 8, 16, 20))
    if rng.random() < 0.5:
        return depthwise(size, kernel, (1, 1), _padding(rng), dilation)
    return conv(size, rng.choice((4, 8, 16)), kernel, (1, 1), _padding(rng), dilation)


def _depthwise(rng: random.Random) -> Layer:
    kernel = rng.choice(((3, 3), (3, 3), (5, 5), (7, 7), (2, 2), (4, 4), (5, 3), (10, 4)))
    return depthwise(_size(rng, kernel, _CHANNELS), kernel, _step(rng), _padding(rng))


def _strip(rng: random.Random) -> Layer:
    """Draw a depthwise window of height or width 1."""
    reach = rng.choice((2, 3, 5, 7, 10, 15, 21))
    is_tall = rng.random() < 0.6
    kernel = (reach, 1) if is_tall else (1, reach)
    along, across = max(rng.choice((10, 16, 25, 49)), reach), rng.choice((1, 1, 1, 4, 8))
    channels = rng.choice((1, 3, 8, 16, 24, 40, 60, 64, 100, 128))
    size = (along, across, channels) if is_tall else (across, along, channels)
    stride = rng.choice((1, 1, 1, 2))
    return depthwise(size, kernel, (stride, 1) if is_tall else (1, stride), _padding(rng))


def _multiplied(rng: random.Random) -> Layer:
    kernel = rng.choice(((3, 3), (5, 5), (3, 1), (10, 4)))
    multiplier = rng.choice((2, 3, 4, 8, 16))
    size = _size(rng, kernel, (1, 1, 2, 3, 4, 8, 16))
    return depthwise(size, kernel, _step(rng), _padding(rng), multiplier=multiplier)


def _dense(rng: random.Random) -> Layer:
    depth = rng.choice((1, 3, 7, 16, 30, 33, 48, 100, 256, 392, 1000))
    return dense(depth, rng.choice((1, 2, 3, 7, 10, 16, 33, 64, 100)), rng.choice((1, 1, 2, 5, 16)))


def _pool(rng: random.Random) -> Layer:
    kernel = rng.choice(((2, 2), (2, 2), (3, 3), (4, 4), (1, 4), (5, 1)))
    kind = rng.choice(("average", "max"))
    stride = rng.choice((kernel, (1, 1), (2, 2)))
    return pool(kind, _size(rng, kernel, _CHANNELS), kernel, stride, _padding(rng))


def _pair(rng: random.Random) -> Layer:
    code = rng.choice(("ADD", "MUL"))
    height, width, channels = _size(rng, (1, 1), _CHANNELS)
    size = (1, height, width, channels)
    other = rng.choice((None, None, (1, 1, 1, channels), (1, 1, 1, 1), (1, height, width, 1)))
    return pair(code, size, None if other == size else other)


def _softmax(rng: random.Random) -> Layer:
    return softmax(rng.choice((1, 1, 4, 25)), rng.choice((2, 3, 5, 10, 35, 100, 500)))


def _mean(rng: random.Random) -> Layer:
    axes = rng.choice(((1, 2), (1, 2), (1, 2), (3,), (1,), (2,)))
    return mean(_size(rng, (2, 2), _MANY), axes)


def _pad(rng: random.Random) -> Layer:
    sides = [(rng.choice((0, 1, 2)), rng.choice((0, 1, 3))) for _ in range(2)]
    return pad(_size(rng, (2, 2), _CHANNELS), [*sides, rng.choice(((0, 0), (0, 0), (0, 5)))])


def _concatenation(rng: random.Random) -> Layer:
    height, width, depth = _size(rng, (1, 1), _FEW)
    if rng.random() < 0.3:
        return concatenation([(height, width, depth)] * 2, axis=1)
    parts = [(height, width, rng.choice(_CHANNELS)) for _ in range(rng.choice((2, 2, 3)))]
    return concatenation(parts)


def _lstm(rng: random.Random) -> Layer:
    steps, features = rng.choice((1, 5, 10, 20)), rng.choice((4, 10, 16, 40))
    return lstm(steps, features, rng.choice((4, 8, 16, 20, 32, 64)))


def _svdf(rng: random.Random) -> Layer:
    features, units = rng.choice((10, 16, 40, 64)), rng.choice((4, 16, 32, 64))
    return svdf(features, units, rng.choice((2, 5, 8, 10, 20)), rng.choice((1, 1, 2)))


def _transposed(rng: random.Random) -> Layer:
    kernel = rng.choice(((2, 2), (3, 3), (4, 4), (1, 4)))
    stride = rng.choice(((1, 1), (2, 2), (2, 2)))
    size = rng.choice((2, 4, 8)), rng.choice((2, 4, 8, 10)), rng.choice((1, 3, 8, 16, 32))
    stride = (1, stride[1]) if kernel[0] == 1 else stride
    return transposed(size, rng.choice((1, 3, 8, 16, 24)), kernel, stride)


def _product(rng: random.Random) -> Layer:
    rows, depth, columns = (rng.choice((1, 4, 9, 16, 32)) for _ in range(3))
    return product(rng.choice((1, 2, 4)), rows, depth, columns, rng.random() < 0.5)


def _curve(rng: random.Random) -> Layer:
    size = (1, rng.choice((1, 8, 20)), rng.choice((1, 10)), rng.choice((1, 7, 16, 64)))
    return curve(rng.choice(("LOGISTIC", "TANH")), size)


def _resized(rng: random.Random) -> Layer:
    kind = rng.choice(("BILINEAR", "NEAREST_NEIGHBOR"))
    height, width, channels = rng.choice((3, 5, 8)), rng.choice((3, 4, 8)), rng.choice(_FEW)
    grown = rng.choice((2, 3)) * height, rng.choice((2, 3)) * width
    return resized(kind, (height, width, channels), *grown, is_centred=rng.random() < 0.5)


def _transpose(rng: random.Random) -> Layer:
    order = rng.choice(((0, 2, 1, 3), (0, 3, 1, 2), (0, 2, 3, 1), (0, 1, 3, 2), (0, 3, 2, 1)))
    return transpose((1, *_size(rng, (2, 2), _MANY)), order)


COUNTS: dict[Draw, int] = {
    _conv: 34, _first: 10, _grouped: 10, _dilated: 14, _depthwise: 22, _strip: 18, _multiplied: 10,
    _dense: 18, _pool: 18, _pair: 16, _softmax: 7, _mean: 7, _pad: 6, _concatenation: 7, _lstm: 6,
    _svdf: 6, _transposed: 10, _product: 9, _curve: 8, _resized: 8, _transpose: 8,
}  # fmt: skip
"""How many layers each function draws."""


def layers(seed: int = STORED_SEED) -> Iterator[Layer]:
    """Yield all drawn layers; a function's layers do not depend on how many the others draw."""
    for number, (draw, count) in enumerate(COUNTS.items()):
        rng = random.Random(seed * 1000 + number)
        for _ in range(count):
            yield draw(rng)
