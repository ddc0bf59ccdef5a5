"""Layers that mix channels: the input channels that they do not need, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.optimizer.intervals.bounds import Bounds, Ints
from ethosgen.optimizer.intervals.layers import LayerFacts, layer_of, sums_of
from ethosgen.optimizer.intervals.scaling import INT32
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.network import Graph, Operator

Flags = np.ndarray[Any, np.dtype[np.bool_]]

SINKS = frozenset({"CONV_2D", "FULLY_CONNECTED"})


@dataclass(frozen=True)
class Sink:
    """A layer that mixes channels.

    `has_weights` says whether an output channel has a weight other than 0 for an input channel, by
    (input, output); constant output channels need none. `spare` are the constant input channels
    that its bias can take; `taken` is each one's addend to each output's bias, by (input, output).
    `constant` are the constant output channels, `least` the least sum of each output channel.
    """

    layer: LayerFacts
    has_weights: Flags
    spare: Flags
    taken: Ints
    constant: Flags
    least: Ints

    def needs(self, outputs: Flags) -> Flags:
        """Return the input channels that some output channels need."""
        needed: Flags = self.has_weights[:, outputs].any(axis=1) & ~self.spare
        return needed


def sink_of(operator: Operator, graph: Graph, bounds: Mapping[int, Bounds]) -> Sink | None:
    """Return the channels that a layer does not need; None for another kind of operator."""
    if operator.code not in SINKS or len(operator.outputs) != 1:
        return None
    site = BoundedSite(operator, graph, bounds)
    layer = layer_of(site)
    if layer is None:
        return None
    depth = layer.source.shape[-1]
    by_reads = layer.weights.sum(axis=0)
    sums = np.zeros((depth, by_reads.shape[1]), np.int64)
    np.add.at(sums, layer.reads, by_reads)
    has_weights = np.zeros(sums.shape, bool)
    np.logical_or.at(has_weights, layer.reads, (layer.weights != 0).any(axis=0))
    source = bounds.get(layer.source.index)
    target = bounds.get(layer.target.index)
    ends = sums_of(layer, source) if source else None
    constant = np.zeros(sums.shape[1], bool)
    if ends is not None and target is not None:
        constant = target.constant & (abs(ends.low) <= INT32.max)
    has_weights &= ~constant
    spare = np.zeros(depth, bool) if source is None else source.constant.copy()
    value = np.zeros(depth, np.int64) if source is None else source.low - layer.point
    if layer.window is not None and layer.window.is_padded:
        spare &= value == 0  # the border sees the zero point instead of the constant
    taken = np.where(spare, value, 0)[:, None] * sums
    most = np.abs(layer.bias) + np.abs(taken).sum(axis=0)
    if most.max(initial=0) > INT32.max:
        spare &= value == 0
        taken = np.zeros_like(taken)
    least = layer.bias if ends is None else ends.low
    return Sink(layer, has_weights, spare, taken, constant, least)
