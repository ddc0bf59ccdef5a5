"""Samples that drive each operator of a network to its ends.

They are for networks of operators side by side: an input belongs to one operator. For a layer with
constant weights, inputs follow the signs of the weights of one output channel after the other, so
that its sums become largest and smallest, and reach ties of rounding; for others, all inputs are at
one end, at opposite ends, or run through their values. An input also has one element at the other
end, and values at and between the edges of an interpolated table; rescaled values, and two inputs,
meet ties.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ethosgen.samples.drawing import Array, default_samples
from ethosgen.samples.spans import Span, input_spans
from ethosgen.samples.sums import ROUNDS, end_sums, tie_sums
from ethosgen.samples.ties import tie_inputs
from ethosgen.samples.windows import windows_of
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays

COUNT = 7 + ROUNDS
"""Samples: ends, opposite ends, one element at the other end, sums at ends, values in turn, ties.
"""

_MOST = 2.0**62
"""The bound of a ramp: the ends of int64 are not doubles."""
_SEGMENT = 128
"""The 16-bit values of one segment of an interpolated table."""


def drive_to_ends(network: Network, most_work: int | None = None) -> list[Arrays]:
    """Return up to COUNT samples of a network in which each input is read by one operator.

    `most_work` limits the multiplications of all of them.
    """
    spans = dict(zip((t.index for t in network.inputs), input_spans(network), strict=True))
    samples: list[dict[str, Array]] = [{} for _ in range(COUNT)]
    for operator in network.graph.operators:
        for sample, driven in zip(samples, _driven(operator, network.graph, spans), strict=True):
            sample.update(driven)
    count = COUNT if most_work is None else default_samples(network, COUNT, most_work)
    return list(samples[:count])


def _driven(operator: Operator, graph: Graph, spans: Mapping[int, Span]) -> list[Arrays]:
    tensors = [graph.tensors[i] for i in dict.fromkeys(operator.inputs) if i in spans]
    spanned = [(tensor, spans[tensor.index]) for tensor in tensors]

    def at(*ends: str) -> Arrays:
        turns = (ends[n % len(ends)] for n in range(len(tensors)))
        return {
            tensor.name: _cast(np.broadcast_to(getattr(span, end), tensor.shape), tensor)
            for (tensor, span), end in zip(spanned, turns, strict=True)
        }

    hot = [_one_hot(tensor, span, n) for n, (tensor, span) in enumerate(spanned)]
    one_hot = [
        {t.name: pair[end] for t, pair in zip(tensors, hot, strict=True)} for end in range(2)
    ]
    ramp = {t.name: _ramp(t, span, n) for n, (t, span) in enumerate(spanned)}
    downwards = {name: np.flip(values).copy() for name, values in ramp.items()}
    ends, output = [at("low"), at("high")], graph.tensors[operator.outputs[0]]
    windows = windows_of(operator, graph)
    if windows is not None and windows.source.index in spans:
        source, centre = windows.source, at("centre")
        sums = end_sums(windows, spans[source.index])
        tied = tie_sums(operator, output, windows)
        filled = [{**centre, source.name: _cast(values, source)} for values in (*sums, *tied)]
        return _padded([*ends, *one_hot, *filled[:2], ramp, *filled[2:], downwards], spanned)
    met = tie_inputs(operator, graph, tensors)
    ties = [{t.name: _cast(v, t) for t, v in zip(tensors, met, strict=True)}] if met else []
    if len(tensors) == 1:
        between = [{tensors[0].name: values} for values in _between(*spanned[0])]
        driven = [*ends, *one_hot, *between, ramp, *ties, downwards]
    else:
        crossed = [at("low", "high"), at("high", "low"), at("low", "centre"), at("high", "centre")]
        driven = [*ends, *crossed, ramp, *ties, *one_hot, downwards]
    return _padded(driven, spanned)


def _padded(driven: Sequence[Arrays], spanned: Sequence[tuple[Tensor, Span]]) -> list[Arrays]:
    """Return COUNT samples: the given ones, and random ones."""
    random = np.random.default_rng(0)
    drawn = ({t.name: _uniform(t, span, random) for t, span in spanned} for _ in range(COUNT))
    return [*driven, *drawn][:COUNT]


def _uniform(tensor: Tensor, span: Span, random: np.random.Generator) -> Array:
    low, high = (np.asarray(end, np.float64) for end in (span.low, span.high))
    values = low + (high - low) * random.random(tensor.shape)
    values = np.clip(values, -_MOST, _MOST)
    return _cast(np.rint(values) if span.is_whole else values, tensor)


def _one_hot(tensor: Tensor, span: Span, turn: int) -> tuple[Array, Array]:
    """Return the lowest value everywhere and the highest once, and the reverse.

    The single one is in the middle of the first input, and further back in others.
    """
    place = tensor.elements * (turn + 1) // (turn + 2)
    is_hot = np.arange(tensor.elements).reshape(tensor.shape) == place
    low, high = np.asarray(span.low), np.asarray(span.high)
    return (
        _cast(np.where(is_hot, high, low), tensor),
        _cast(np.where(is_hot, low, high), tensor),
    )


def _between(tensor: Tensor, span: Span) -> tuple[Array, Array]:
    """Return values between those of the ramp.

    Where a step of the ramp is larger than a segment of a table, they are on both sides of the
    edges between segments, and in the middle of segments, where an odd difference makes a tie.
    """
    ramp, count = _ramp(tensor, span, 0), max(tensor.elements, 1)
    width = np.subtract(span.high, span.low, dtype=float).max(initial=0)
    if not span.is_whole or span.is_bounded or width < count or width > np.iinfo(np.uint16).max:
        return np.roll(ramp, 1), np.roll(np.flip(ramp), 1)
    at = ramp.astype(np.int64)
    if width / count <= _SEGMENT:
        step = max(int(width) // count, 1)
        moved = (at + (step + 2) // 3, at + (2 * step + 2) // 3)
    else:
        edges = at // _SEGMENT * _SEGMENT
        moved = (edges - np.arange(count).reshape(tensor.shape) % 2, edges + _SEGMENT // 2)
    low, high = (_cast(np.clip(values, span.low, span.high), tensor) for values in moved)
    return low, high


def _ramp(tensor: Tensor, span: Span, step: int) -> Array:
    """Return values that run through the span; a second input runs more slowly."""
    count = max(tensor.elements, 1)
    low, high = np.asarray(span.low, np.float64), np.asarray(span.high, np.float64)
    if span.is_whole and np.all(high - low < count):
        turn = np.arange(count) // (1 + 16 * step)
        places = np.asarray(low + turn.reshape(tensor.shape) % (high - low + 1))
    else:
        places = low + (high - low) * np.linspace(0, 1, count).reshape(tensor.shape)
        places = np.clip(places, -_MOST, _MOST)
    return _cast(np.rint(places) if span.is_whole else places, tensor)


def _cast(values: Array, tensor: Tensor) -> Array:
    return np.ascontiguousarray(values).astype(tensor.dtype).reshape(tensor.shape)
