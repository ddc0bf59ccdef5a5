"""Samples that drive each operator of a network to its ends.

They are for networks of operators side by side: an input belongs to one operator. For a layer with
constant weights, inputs follow the signs of the weights of one output channel after the other, so
that its sums become largest and smallest; for others, all inputs are at one end, at opposite ends,
or run through their values.
"""

from collections.abc import Mapping

import numpy as np

from ethosgen.samples.drawing import Array
from ethosgen.samples.spans import Span, input_spans
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor
from ethosgen.values.outcome import Arrays

COUNT = 8
"""Samples: both ends, opposite ends, sums at both ends, values upwards and downwards."""

_MOST = 2.0**62
"""The bound of a ramp: the ends of int64 are no doubles."""

_CHANNEL_AXES = {"CONV_2D": 0, "FULLY_CONNECTED": 0, "DEPTHWISE_CONV_2D": 3}
"""Layers whose second input has the weights, by the axis of their output channels."""


def drive_to_ends(network: Network) -> list[Arrays]:
    """Return COUNT samples of a network in which each input is read by one operator."""
    spans = dict(zip((t.index for t in network.inputs), input_spans(network), strict=True))
    samples: list[dict[str, Array]] = [{} for _ in range(COUNT)]
    for operator in network.graph.operators:
        for sample, made in zip(samples, _driven(operator, network.graph, spans), strict=True):
            sample.update(made)
    return list(samples)


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
    driven = [at("low"), at("high"), at("low", "high"), at("high", "low")]
    if largest is None:
        driven += [at("low", "centre"), at("high", "centre")]
    else:
        driven += [{names[0]: values} for values in largest]
    ramps = [_ramp(tensor, spans[tensor.index], n) for n, tensor in enumerate(tensors)]
    driven.append(dict(zip(names, ramps, strict=True)))
    driven.append({name: np.flip(values).copy() for name, values in driven[-1].items()})
    return driven


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
