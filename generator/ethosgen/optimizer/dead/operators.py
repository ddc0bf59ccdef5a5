"""Rewrites that remove operators: those that change nothing, and unread ones."""

from dataclasses import replace

import numpy as np

from ethosgen.optimizer.dead.places import keeps_places
from ethosgen.optimizer.dead.relations import CARRIERS
from ethosgen.optimizer.intervals.analysis import TRANSFERS, bounds_of
from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.optimizer.intervals.elementwise import ELEMENTWISE, are_alike
from ethosgen.optimizer.intervals.pointwise import images
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import compacted, with_graphs
from ethosgen.values.network import ABSENT, Graph, Network, Operator
from ethosgen.values.optimization import Change
from ethosgen.values.rescaling import activation_range

IDLE, UNREAD = "idle-operators", "unread-operators"

_POOLS = frozenset({"MAX_POOL_2D", "AVERAGE_POOL_2D"})
_MOST_IMAGES = 1 << 22
"""Most values of all channels to try."""


def remove_idle(network: Network) -> Rewritten | None:
    """Let others read the input of operators that return it unchanged."""
    graphs, counts = {}, dict[str, int]()
    for number, original in enumerate(network.graphs):
        graph = original
        while (idle := _first_idle(graph)) is not None:
            operator, kept, gone = idle
            counts[operator.code] = counts.get(operator.code, 0) + 1
            graphs[number] = graph = moved_reads(graph, operator, kept, gone)
    changes = tuple(
        Change(IDLE, f"idle {code}", "removed", count) for code, count in counts.items()
    )
    return Rewritten(with_graphs(network, graphs), changes) if changes else None


def _first_idle(graph: Graph) -> tuple[Operator, int, int] | None:
    """Return an idle operator, the tensor that remains of its input and output, and the other."""
    candidates = [op for op in graph.operators if _may_be_idle(op, graph)]
    known = bounds_of(graph) if candidates else {}
    for operator in candidates:
        site, target = BoundedSite(operator, graph, known), operator.outputs[0]
        (source,) = {tensor.index for tensor in site.inputs if tensor.data is None}
        if target not in graph.outputs:
            kept, gone = source, target
        elif source not in (*graph.inputs, *graph.outputs):
            kept, gone = target, source
        else:
            continue
        if _is_idle(site, source):
            return operator, kept, gone
    return None


def _may_be_idle(operator: Operator, graph: Graph) -> bool:
    """Return whether an operator has one input that varies, and an output like it."""
    if len(operator.outputs) != 1:
        return False
    target = graph.tensors[operator.outputs[0]]
    read = [graph.tensors[i] for i in operator.inputs if i != ABSENT]
    varying = [*{tensor.index: tensor for tensor in read if tensor.data is None}.values()]
    if len(varying) != 1 or varying[0].is_variable or target.index in graph.inputs:
        return False
    if varying[0].shape != target.shape or not are_alike(varying[0], target):
        return False
    if operator.code in _POOLS:
        sizes = ("filter_height", "filter_width", "stride_h", "stride_w")
        return all(operator.options.get(size) == 1 for size in sizes)
    return operator.code in ELEMENTWISE or keeps_places(operator, graph)


def _is_idle(site: BoundedSite, source: int) -> bool:
    """Return whether each value that the input may have is also the output's, in each channel."""
    bounds = site.known.get(source)
    if site.operator.code in ELEMENTWISE:
        return bounds is not None and _gives_back(site, source, bounds)
    if site.operator.code not in _POOLS:
        return True
    low, high = activation_range(site.operator, site.target) if bounds else (0, 0)
    return bounds is not None and bool((bounds.low >= low).all() and (bounds.high <= high).all())


def _gives_back(site: BoundedSite, source: int, bounds: Bounds) -> bool:
    """Return whether an elementwise operator maps all values within bounds to themselves."""
    values, count = np.arange(bounds.low.min(), bounds.high.max() + 1), bounds.low.size
    others = {tensor.index for tensor in site.inputs} - {source}
    known = {index: site.known.get(index) for index in others}
    if values.size * count > _MOST_IMAGES:
        return False
    each = np.repeat(values, count)
    elements = {source: Bounds(each, each)}
    for index, other in known.items():
        if other is None or other.low.size not in (1, count):
            return False
        ends = other.over(count)
        elements[index] = Bounds(np.tile(ends.low, values.size), np.tile(ends.high, values.size))
    image = images(site, elements)
    if image is None:
        return False
    may_be = (bounds.low <= each.reshape(-1, count)) & (each.reshape(-1, count) <= bounds.high)
    return not ((image.low != each) | (image.high != each))[may_be.ravel()].any()


def moved_reads(graph: Graph, operator: Operator, kept: int, gone: int) -> Graph:
    """Return a graph without an operator, in which one tensor replaces another."""

    def moved(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(kept if index == gone else index for index in indices)

    others = [
        replace(op, inputs=moved(op.inputs), outputs=moved(op.outputs))
        for op in graph.operators
        if op.index != operator.index
    ]
    return compacted(graph, graph.tensors, others)


def remove_unread(network: Network) -> Rewritten | None:
    """Remove operators with unread outputs."""
    return in_each_graph(network, _without_unread, UNREAD, "unread operator", "removed")


def _without_unread(graph: Graph) -> tuple[Graph, int]:
    read, left = set(graph.outputs), list[Operator]()
    for operator in reversed(graph.operators):
        if is_pure(operator, graph) and not read & {*operator.outputs}:
            continue
        left.insert(0, operator)
        read |= {*operator.inputs}
    return compacted(graph, graph.tensors, left), len(graph.operators) - len(left)


def is_pure(operator: Operator, graph: Graph) -> bool:
    """Return whether an operator has no effects except its outputs, and never fails."""
    used = (i for i in (*operator.inputs, *operator.outputs) if i != ABSENT)
    is_known = operator.code in TRANSFERS or operator.code in CARRIERS
    return is_known and not any(graph.tensors[i].is_variable for i in used)


IDLE_OPERATORS = Rewrite(
    IDLE,
    "each value that an operator's input may have is also its output's, at its place, and both "
    "have one type, scale and zero point",
    remove_idle,
)
UNREAD_OPERATORS = Rewrite(
    UNREAD, "nobody reads an operator's outputs, and it has no other effect", remove_unread
)
