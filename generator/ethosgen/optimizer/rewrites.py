"""A rewrite: a change of a network that keeps every bit of its outputs."""

from collections.abc import Callable
from dataclasses import dataclass

from ethosgen.values.editing import with_graphs
from ethosgen.values.network import Graph, Network
from ethosgen.values.optimization import Change


@dataclass(frozen=True)
class Rewritten:
    """A network after a rewrite, and the rewrite's changes."""

    network: Network
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Rewrite:
    """A rewrite, with the condition under which it keeps every bit.

    `apply` returns None where the condition holds nowhere, or where nothing would change. It leaves
    the network's inputs and outputs, and operators that it does not know, unchanged.
    """

    name: str
    condition: str
    apply: Callable[[Network], Rewritten | None]


Step = Callable[[Graph], tuple[Graph, int]]
"""Returns a graph with some places changed, and their number; 0 if there are none."""


def in_each_graph(
    network: Network, step: Step, rewrite: str, kind: str, did: str
) -> Rewritten | None:
    """Apply a step to each graph until nothing changes; the other arguments are Change's."""
    graphs, count = {}, 0
    for number, original in enumerate(network.graphs):
        graph, changed = step(original)
        while changed:
            graphs[number], count = graph, count + changed
            graph, changed = step(graph)
    if not count:
        return None
    return Rewritten(with_graphs(network, graphs), (Change(rewrite, kind, did, count),))
