"""Samples that reveal faults: several distributions within the accepted values, and their ends.

Uniform values alone saturate most networks, which then give the same outputs for every sample. Sums
that wrap only if every input is the lowest or the highest value are seldom drawn, so these samples
come early.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ethosgen.samples.spans import Span, input_spans
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays

Array = np.ndarray[Any, Any]
Generator = np.random.Generator
Draw = Callable[[Generator, Span, tuple[int, ...], int], Array]
"""Draws an array of a shape; the last argument is the round of distributions."""

SAMPLES = 10
"""Default number of samples: two of each distribution."""

MOST_WORK = 4_000_000_000
"""Default limit on the multiplications of all samples together.

TFLite Micro takes 0.7 to 1.7 ns for a multiplication of CONV_2D, 2.7 ns of DEPTHWISE_CONV_2D.
"""

_SIGMAS = 6.0
"""A normal distribution's range of values, in standard deviations."""
_PLAIN_SIGMA = 64.0
"""The standard deviation of unquantized integers: counts, not full words."""
_NARROWER = (1.0, 4.0, 16.0)
"""The factor by which a normal distribution narrows in each round of distributions."""
_SPARSE = 0.1
"""The share of a sparse sample's elements that are not zero."""


def default_samples(network: Network, most: int = SAMPLES, work: int | None = None) -> int:
    """Return the number of samples to draw: `most`, or fewer for a large network.

    Together they need at most `work` multiplications, by default MOST_WORK. Without inputs and
    state, all are the same.
    """
    if not network.inputs and not network.has_state:
        return 1
    allowed = MOST_WORK if work is None else work
    return max(1, min(most, allowed // max(network.multiplications, 1)))


def draw_samples(network: Network, count: int, seed: int) -> list[Arrays]:
    """Draw samples from each distribution in turn, the uniform one first.

    Sample i depends only on the seed and i, not on `count`.
    """
    return [
        _sample(network, seed, index, _DRAWS[distribution_of(index)], index // len(_DRAWS))
        for index in range(count)
    ]


def random_samples(network: Network, count: int, seed: int) -> list[Arrays]:
    """Draw integers uniformly from the accepted values, floats from a normal distribution."""
    return [_sample(network, seed, index, _plain, 0) for index in range(count)]


def distribution_of(index: int) -> str:
    """Return the name of the distribution of sample `index`."""
    return list(_DRAWS)[index % len(_DRAWS)]


def count_distributions(count: int) -> dict[str, int]:
    """Return the number of samples from each distribution, by name."""
    return dict(Counter(map(distribution_of, range(count))))


def _sample(network: Network, seed: int, index: int, draw: Draw, turn: int) -> Arrays:
    arrays = {}
    for position, (tensor, span) in enumerate(
        zip(network.inputs, input_spans(network), strict=True)
    ):
        random = np.random.default_rng((seed, index, position))
        values = draw(random, span, tensor.shape, turn)
        arrays[tensor.name] = np.asarray(values).astype(tensor.dtype).reshape(tensor.shape)
    return arrays


def _plain(random: Generator, span: Span, shape: tuple[int, ...], turn: int) -> Array:
    return (_uniform if span.is_whole else _normal)(random, span, shape, turn)


def _uniform(random: Generator, span: Span, shape: tuple[int, ...], _turn: int) -> Array:
    if span.is_whole:
        return np.asarray(random.integers(span.low, span.high, shape, np.int64, endpoint=True))
    return np.asarray(random.uniform(span.low, span.high, shape))


def _normal(random: Generator, span: Span, shape: tuple[int, ...], turn: int) -> Array:
    width = np.subtract(span.high, span.low, dtype=float)
    sigma = width / _SIGMAS / _NARROWER[turn % len(_NARROWER)]
    if span.is_whole and not span.is_bounded and np.all(width > np.iinfo(np.uint16).max):
        sigma = np.asarray(_PLAIN_SIGMA)
    values = random.standard_normal(shape) * sigma + span.centre
    if not span.is_whole:
        return np.asarray(np.clip(values, span.low, span.high))
    return np.asarray(np.clip(np.rint(values).astype(np.int64), span.low, span.high))


def _sparse(random: Generator, span: Span, shape: tuple[int, ...], turn: int) -> Array:
    is_set = random.random(shape) < _SPARSE
    return np.where(is_set, _uniform(random, span, shape, turn), span.centre)


def _extremes(random: Generator, span: Span, shape: tuple[int, ...], _turn: int) -> Array:
    choices = [np.broadcast_to(end, shape) for end in (span.low, span.high, span.centre)]
    return np.choose(random.integers(0, len(choices), shape), choices)


def _at(end: str) -> Draw:
    """Return a function that draws the lowest or the highest value everywhere.

    In later rounds one element is at the other end.
    """

    def draw(random: Generator, span: Span, shape: tuple[int, ...], turn: int) -> Array:
        ends = (span.low, span.high) if end == "low" else (span.high, span.low)
        values = np.array(np.broadcast_to(np.asarray(ends[0]), shape))
        if turn and values.size:
            place = int(random.integers(values.size))
            values.flat[place] = np.broadcast_to(np.asarray(ends[1]), shape).flat[place]
        return values

    return draw


def _constant(random: Generator, span: Span, shape: tuple[int, ...], turn: int) -> Array:
    """Return one value everywhere: the zero value, then the ends, then any."""
    share = random.random()
    between = np.asarray(span.low + share * np.subtract(span.high, span.low, dtype=float))
    values = (span.centre, span.high, span.low, np.rint(between) if span.is_whole else between)
    return np.broadcast_to(np.asarray(values[turn % len(values)]), shape)


_DRAWS: Mapping[str, Draw] = {
    "uniform": _uniform,
    "lowest": _at("low"),
    "extremes": _extremes,
    "highest": _at("high"),
    "normal": _normal,
    "sparse": _sparse,
    "constant": _constant,
}
"""Distributions by name, in the order of their turns."""
