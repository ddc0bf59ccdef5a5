"""The rewrite that joins equal channels: one of them takes the weights of the other.

Channels of a layer are equal if their weights, biases and scales are; they stay equal through
operators that compute channel by channel. A layer that reads both can read only the first, with the
sum of their weights; then the other is unread.
"""

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ethosgen.optimizer.dead.channels import remove_dead_channels
from ethosgen.optimizer.dead.relations import Relation, relations_of
from ethosgen.optimizer.dead.sinks import SINKS
from ethosgen.optimizer.intervals.bounds import channels_of
from ethosgen.optimizer.intervals.layers import LAYERS, LayerFacts, layer_of
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.optimizer.rewrites import Rewrite, Rewritten
from ethosgen.values.editing import GraphEdit, with_graphs
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.optimization import Change
from ethosgen.values.rescaling import limits

NAME = "equal-channels"

_MOST_INT4 = 7

Kinds = Mapping[int, list[Hashable]]
"""What each channel of a tensor is; equal ones have equal values for every input."""


def join_equal_channels(network: Network) -> Rewritten | None:
    """Let layers read one of equal channels; None if that removes no channel."""
    graphs = {
        number: joined
        for number, graph in enumerate(network.graphs)
        if (joined := _joined(graph)) is not None
    }
    fewer = remove_dead_channels(with_graphs(network, graphs)) if graphs else None
    count = sum(change.count for change in fewer.changes if change.did == "removed") if fewer else 0
    if fewer is None or not count:
        return None
    return Rewritten(fewer.network, (Change(NAME, "equal channel", "joined with another", count),))


def _joined(graph: Graph) -> Graph | None:
    kinds, edit, is_changed = _kinds(graph), GraphEdit(graph), False
    for operator in graph.operators:
        layer = layer_of(BoundedSite(operator, graph, {})) if operator.code in SINKS else None
        if layer is None:
            continue
        weights = graph.tensors[operator.inputs[1]]
        values = _joined_weights(weights, kinds[layer.source.index])
        if values is not None:
            new = edit.constant(weights, values, weights.quantization)
            edit.set_input(operator.index, 1, new)
            is_changed = True
    return edit.done() if is_changed else None


def _joined_weights(weights: Tensor, kinds: list[Hashable]) -> np.ndarray[Any, Any] | None:
    """Return weights that read only the first of equal channels, None if that changes nothing.

    The last axis of the weights has the channels, once or for several places in turn.
    """
    point = weights.first_zero_point if weights.dtype == "uint8" else 0
    low, high = (-_MOST_INT4, _MOST_INT4) if weights.is_packed else limits(weights.dtype)
    values, first = weights.array().astype(np.int64) - point, dict[Hashable, int]()
    is_changed = False
    for column in range(values.shape[-1]):
        key = (column // len(kinds), kinds[column % len(kinds)])
        kept = first.setdefault(key, column)
        if kept == column or not values[..., column].any():
            continue
        total = values[..., kept] + values[..., column]
        if total.min() < max(low - point, -high) or total.max() > high - point:
            continue
        values[..., kept], values[..., column] = total, 0
        is_changed = True
    return values + point if is_changed else None


def _kinds(graph: Graph) -> Kinds:
    """Return the kind of each channel of each tensor."""
    kinds: dict[int, list[Hashable]] = {
        tensor.index: [(tensor.index, channel) for channel in range(channels_of(tensor))]
        for tensor in graph.tensors
    }
    for tensor in graph.tensors:
        if tensor.data is not None and tensor.elements and tensor.shape:
            columns = tensor.array().reshape(-1, tensor.shape[-1]).T
            kinds[tensor.index] = [(tensor.index, column.tobytes()) for column in columns]
    for operator in graph.operators:
        if len(operator.outputs) != 1:
            continue
        if operator.code in LAYERS:
            layer = layer_of(BoundedSite(operator, graph, {}))
            if layer is not None:
                kinds[layer.target.index] = _layer_kinds(operator, graph, layer, kinds)
            continue
        relations = relations_of(operator, graph)
        if relations is not None:
            kinds[operator.outputs[0]] = _carried(operator, graph, relations, kinds)
    return kinds


def _layer_kinds(
    operator: Operator, graph: Graph, layer: LayerFacts, kinds: Kinds
) -> list[Hashable]:
    """Return the kinds of a layer's channels: their weights, biases and scales, and inputs."""
    known = graph.tensors[operator.inputs[1]].quantization
    assert known is not None
    count = layer.weights.shape[2]
    scales = known.scale if len(known.scale) == count else known.scale[:1] * count
    reads = [kinds[layer.source.index][i] for i in layer.reads] if layer.is_depthwise else None
    return [
        (
            operator.index,
            layer.weights[:, :, channel].tobytes(),
            int(layer.bias[channel]),
            scales[channel],
            reads[channel] if reads else None,
        )
        for channel in range(count)
    ]


def _carried(
    operator: Operator, graph: Graph, relations: tuple[Relation, ...], kinds: Kinds
) -> list[Hashable]:
    """Return the kinds of an operator's channels, if it computes each from related channels.

    In a RESHAPE, the same channel at another place counts as another.
    """
    count = channels_of(graph.tensors[operator.outputs[0]])
    parts: list[list[Hashable]] = [[] for _ in range(count)]
    for relation in relations:
        source = kinds[operator.inputs[relation.position]]
        for channel, origin in enumerate(relation.origin, relation.start):
            place = channel // len(source) if operator.code == "RESHAPE" else 0
            parts[channel].append((place, source[origin]))
    return [(operator.index, *part) for part in parts]


EQUAL_CHANNELS = Rewrite(
    NAME,
    "two channels have equal weights, biases, scales and inputs, so equal values, and the sum of a "
    "reader's weights for both is a weight of its type",
    join_equal_channels,
)
