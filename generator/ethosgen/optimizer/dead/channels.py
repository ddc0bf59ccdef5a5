"""The rewrite that removes dead channels."""

from collections.abc import Mapping

from ethosgen.optimizer.dead.needs import Flags, needs_of
from ethosgen.optimizer.dead.removal import shrunk
from ethosgen.optimizer.dead.sinks import Sink, sink_of
from ethosgen.optimizer.intervals.analysis import bounds_of
from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.optimizer.intervals.layers import LAYERS
from ethosgen.optimizer.rewrites import Rewrite, Rewritten
from ethosgen.values.editing import with_graphs
from ethosgen.values.network import Graph, Network
from ethosgen.values.optimization import Change

NAME = "dead-channels"


def remove_dead_channels(network: Network) -> Rewritten | None:
    """Remove the channels of each graph on which no output depends."""
    graphs, changes = {}, list[Change]()
    for number, graph in enumerate(network.graphs):
        bounds = bounds_of(graph)
        sinks = {op.index: sink for op in graph.operators if (sink := sink_of(op, graph, bounds))}
        kept = needs_of(graph, sinks)
        graph_changes = _changes(graph, kept, bounds, sinks)
        if graph_changes:
            graphs[number] = shrunk(graph, kept, sinks)
            changes += graph_changes
    return Rewritten(with_graphs(network, graphs), tuple(changes)) if changes else None


def _changes(
    graph: Graph, kept: Mapping[int, Flags], bounds: Mapping[int, Bounds], sinks: Mapping[int, Sink]
) -> list[Change]:
    """Return the changes: channels of layers to remove, constant or unread."""
    constant = unread = barren = 0
    for operator in graph.operators:
        if operator.code not in LAYERS or len(operator.outputs) != 1:
            continue
        target = operator.outputs[0]
        gone = ~kept[target]
        known = bounds.get(target)
        is_constant = known.constant if known is not None else gone & False
        constant += int((gone & is_constant).sum())
        unread += int((gone & ~is_constant).sum())
        sink = sinks.get(operator.index)
        if sink is not None:
            has_weights = (sink.layer.weights != 0).any(axis=(0, 1))
            barren += int((~gone & sink.constant & has_weights).sum())
    counts = (
        ("constant channel", "removed", constant),
        ("unread channel", "removed", unread),
        ("constant channel", "without weights", barren),
    )
    return [Change(NAME, kind, did, count) for kind, did, count in counts if count]


DEAD_CHANNELS = Rewrite(
    NAME,
    "a channel has one value for every input, and each reader's bias can take it without leaving "
    "int32 (at a padded border only if it is the zero point); or no output depends on it",
    remove_dead_channels,
)
