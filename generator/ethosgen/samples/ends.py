"""Samples that drive each operator of a network to its ends.

They are for networks of operators side by side: an input belongs to one operator. For a layer with
constant weights, inputs follow the signs of the weights of one output channel after the other, so
that its sums become largest and smallest; for others, all inputs are at one end, at opposite ends,
or run through their values. A single input also has one element at the other end, and values at and
between the edges of an interpolated table; two inputs meet where their result is halfway between
two integers.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ethosgen.samples.drawing import Array, default_samples
from ethosgen.samples.spans import Span, input_spans
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays

COUNT = 8
"""Samples: both ends, opposite ends, sums at both ends, values upwards, and downwards or ties."""

_MOST = 2.0**62
"""The bound of a ramp: the ends of int64 are no doubles."""
_SEGMENT = 128
"""The 16-bit values of one segment of an interpolated table."""
_COMBINE: Mapping[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add.outer,
    "SUB": np.subtract.outer,
    "MUL": np.multiply.outer,
}
"""Operators of two inputs whose real result is that of a function of the real inputs."""

_CHANNEL_AXES = {"CONV_2D": 0, "FULLY_CONNECTED": 0, "DEPTHWISE_CONV_2D": 3}
"""Layers whose second input has the weights, by the axis of their output channels."""


def drive_to_ends(network: Network, most_work: int | None = None) -> list[Arrays]:
    """Return up to COUNT samples of a network in which each input is read by one operator.

    `most_work` limits the multiplications of all of them.
    """
    spans = dict(zip((t.index for t in network.inputs), input_spans(network), strict=True))
    samples: list[dict[str, Array]] = [{} for _ in range(COUNT)]
    for operator in network.graph.operators:
        for sample, made in zip(samples, _driven(operator, network.graph, spans), strict=True):
            sample.update(made)
    count = COUNT if most_work is None else default_samples(network, COUNT, most_work)
    return list(samples[:count])


def _driven(operator: Operator, graph: Graph, spans: Mapping[int, Span]) -> list[Arrays]:
    tensors = [graph.tensors[i] for i in dict.fromkeys(operator.inputs) if i in spans]
    names = [tensor.name for tensor in tensors]

    def at(*ends: str) -> Arrays:
        turns = (ends[n % len(ends)] for n in range(len(tensors)))
        return {
            tensor.name: _cast(
                np.broadcast_to(getattr(spans[tensor.index], end), tensor.shape), tensor
            )
            for tensor, end in zip(tensors, turns, strict=True)
        }

    largest = _by_weights(operator, graph, spans)
    driven = [at("low"), at("high")]
    if len(tensors) == 1:
        driven += [{names[0]: v} for v in _one_hot(tensors[0], spans[tensors[0].index])]
    else:
        driven += [at("low", "high"), at("high", "low")]
    if largest is not None:
        driven += [{names[0]: values} for values in largest]
    elif len(tensors) == 1:
        driven += [{names[0]: v} for v in _between(tensors[0], spans[tensors[0].index])]
    else:
        driven += [at("low", "centre"), at("high", "centre")]
    ramps = [_ramp(tensor, spans[tensor.index], n) for n, tensor in enumerate(tensors)]
    driven.append(dict(zip(names, ramps, strict=True)))
    ties = _ties(operator, graph, tensors)
    downwards = {name: np.flip(values).copy() for name, values in driven[-1].items()}
    driven.append(dict(zip(names, ties, strict=True)) if ties else downwards)
    return driven


def _one_hot(tensor: Tensor, span: Span) -> tuple[Array, Array]:
    """Return the lowest value everywhere and the highest in the middle, and the reverse."""
    is_middle = np.arange(tensor.elements).reshape(tensor.shape) == tensor.elements // 2
    low, high = np.asarray(span.low), np.asarray(span.high)
    return (
        _cast(np.where(is_middle, high, low), tensor),
        _cast(np.where(is_middle, low, high), tensor),
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


def _ties(operator: Operator, graph: Graph, inputs: Sequence[Tensor]) -> list[Array]:
    """Return int8 inputs whose result is halfway between two integers, or as near as it gets.

    An empty list for other types and operators.
    """
    y = graph.tensors[operator.outputs[0]]
    is_plain = len(inputs) == 2 and inputs[0].shape == inputs[1].shape and inputs[0].elements
    known = [t.quantization for t in (*inputs, y)]
    if operator.code not in _COMBINE or not is_plain or {t.dtype for t in (*inputs, y)} != {"int8"}:
        return []
    if not all(q and q.scale and q.zero_point for q in known):
        return []
    (x, z, over) = [(q.scale[0], q.zero_point[0]) for q in known if q]
    values = np.arange(-128, 128)
    reals = [scale * (values - point) for scale, point in (x, z)]
    steps = _COMBINE[operator.code](*reals) / over[0] + over[1]
    distance = abs(steps - np.floor(steps) - 0.5)
    distance[(steps < -128) | (steps > 127)] = 1
    nearest = np.argsort(distance, axis=None, kind="stable")
    chosen = np.resize(nearest, inputs[0].elements)
    places = np.unravel_index(chosen, distance.shape)
    return [_cast(values[place], tensor) for place, tensor in zip(places, inputs, strict=True)]


def _by_weights(
    operator: Operator, graph: Graph, spans: Mapping[int, Span]
) -> tuple[Array, Array] | None:
    """Return inputs that make a layer's sums largest and smallest; None for other operators.

    The patterns of the channels follow one another along the input, each as long as the products
    of one output. They meet whole windows where the stride is the size of a window, and rows.
    """
    axis = _CHANNEL_AXES.get(operator.code)
    if axis is None or operator.inputs[1] == ABSENT:
        return None
    source, weights = (graph.tensors[i] for i in operator.inputs[:2])
    span = spans.get(source.index)
    if weights.data is None or span is None or not span.is_whole or weights.dtype == "float32":
        return None
    values = np.moveaxis(weights.array(), axis, 0)
    rows = values.reshape(values.shape[0], -1) >= 0
    if operator.code == "CONV_2D" and len(source.shape) == 4:
        pattern = _tiled(values >= 0, source.shape)
    else:
        pattern = np.resize(rows, source.elements).reshape(source.shape)
    high, low = np.asarray(span.high), np.asarray(span.low)
    return (
        _cast(np.where(pattern, high, low), source),
        _cast(np.where(pattern, low, high), source),
    )


def _tiled(signs: Array, shape: tuple[int, ...]) -> Array:
    """Lay the windows (channel, height, width, depth) of signs side by side over an NHWC input."""
    channels, height, width, depth = signs.shape
    down, across = -(-shape[1] // height), -(-shape[2] // width)
    order = np.arange(down * across) % channels
    grid = signs[order].reshape(down, across, height, width, depth)
    whole = grid.transpose(0, 2, 1, 3, 4).reshape(down * height, across * width, depth)
    cut = whole[: shape[1], : shape[2]]
    return np.broadcast_to(np.resize(cut, (*cut.shape[:2], shape[3])), shape)


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
