"""Which channels of each tensor must stay.

A channel goes if it is unread, or if each reader is a layer that has no weight for it, or that adds
its only value to its bias. Operators that compute channel by channel pass it on, so it goes, or
stays, in all tensors that meet there. The network's inputs and outputs stay whole, and so do the
tensors of operators that mix channels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ethosgen.optimizer.dead.relations import Relation, relations_of
from ethosgen.optimizer.dead.sinks import Sink
from ethosgen.optimizer.intervals.bounds import channels_of
from ethosgen.optimizer.intervals.layers import LAYERS
from ethosgen.values.network import ABSENT, Graph, Operator

Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass
class Needs:
    """The channels that stay, by tensor; the search only adds channels."""

    graph: Graph
    kept: dict[int, Flags] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with nothing."""
        self.kept = {t.index: np.zeros(channels_of(t), bool) for t in self.graph.tensors}

    def add(self, tensor: int, flags: Flags | bool = True) -> bool:
        """Keep channels; return whether any is new."""
        kept = self.kept[tensor]
        more = flags & ~kept
        kept |= more
        return bool(np.any(more))


def needs_of(graph: Graph, sinks: Mapping[int, Sink]) -> Mapping[int, Flags]:
    """Return the channels that must stay, by tensor; at least one of each that is in use."""
    needs = Needs(graph)
    related = {
        op.index: relations
        for op in graph.operators
        if (relations := relations_of(op, graph)) is not None
    }
    for index in (*graph.inputs, *graph.outputs):
        needs.add(index)
    for operator in graph.operators:
        _start(needs, operator, operator.index in sinks, related.get(operator.index))
    _spread(needs, graph, sinks, related)
    while _add_missing(needs, graph):
        _spread(needs, graph, sinks, related)
    return needs.kept


def _start(
    needs: Needs, operator: Operator, is_sink: bool, relations: tuple[Relation, ...] | None
) -> None:
    """Keep the tensors that an operator reads whole, or writes with mixed channels."""
    if is_sink:
        return
    tied = {operator.inputs[relation.position] for relation in relations or ()}
    read = operator.inputs if relations is None else data_inputs(operator)
    for index in read:
        if index != ABSENT and index not in tied:
            needs.add(index)
    if relations is None:
        for index in (*operator.outputs, *operator.intermediates):
            if index != ABSENT:
                needs.add(index)


def data_inputs(operator: Operator) -> tuple[int, ...]:
    """Return the inputs of an operator, without a layer's own weights and bias."""
    inputs = operator.inputs[:1] if operator.code in LAYERS else operator.inputs
    return tuple(index for index in inputs if index != ABSENT)


def _spread(
    needs: Needs,
    graph: Graph,
    sinks: Mapping[int, Sink],
    related: Mapping[int, tuple[Relation, ...]],
) -> None:
    """Keep the channels that follow from kept ones, until nothing is new."""
    is_new = True
    while is_new:
        is_new = False
        for operator in reversed(graph.operators):
            sink = sinks.get(operator.index)
            if sink is not None:
                outputs = needs.kept[operator.outputs[0]]
                is_new |= needs.add(operator.inputs[0], sink.needs(outputs))
            for relation in related.get(operator.index, ()):
                is_new |= _tie(needs, operator, relation)


def _tie(needs: Needs, operator: Operator, relation: Relation) -> bool:
    """Keep the same channels of an operator's output and input; return whether any is new."""
    target, source = operator.outputs[0], operator.inputs[relation.position]
    part = slice(relation.start, relation.start + relation.origin.size)
    wanted = np.zeros_like(needs.kept[source])
    np.logical_or.at(wanted, relation.origin, needs.kept[target][part])
    is_new = needs.add(source, wanted)
    back = np.zeros_like(needs.kept[target])
    back[part] = needs.kept[source][relation.origin]
    return needs.add(target, back) or is_new


def _add_missing(needs: Needs, graph: Graph) -> bool:
    """Keep the first channel of each tensor that would lose all; return whether there was one.

    A tensor cannot be empty.
    """
    for operator in graph.operators:
        for index in (*data_inputs(operator), *operator.outputs):
            if needs.kept[index].size and not needs.kept[index].any():
                first = np.zeros_like(needs.kept[index])
                first[0] = True
                needs.add(index, first)
                return True
    return False
