"""Rewrites that remove operators: those that change nothing, and those that nobody reads."""

from dataclasses import replace

import numpy as np

from ethosgen.optimizer.dead.relations import CARRIERS
from ethosgen.optimizer.intervals.analysis import TRANSFERS, bounds_of
from ethosgen.optimizer.intervals.bounds import Bounds, channels_of
from ethosgen.optimizer.intervals.elementwise import are_alike
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.optimizer.rewrites import Rewrite, Rewritten
from ethosgen.values.editing import compacted, with_graphs
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import ABSENT, Graph, Network, Operator
from ethosgen.values.optimization import Change

IDLE, UNREAD = "idle-operators", "unread-operators"

_ELEMENTWISE = frozenset(
    {
        *("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "MAXIMUM", "MINIMUM"),
        *("ADD", "SUB", "MUL", "QUANTIZE"),
    }
)
"""Operators that may give back their input."""


def remove_idle(network: Network) -> Rewritten | None:
    """Let others read the input of operators that give it back unchanged."""
    graphs, counts = {}, dict[str, int]()
    for number, original in enumerate(network.graphs):
        graph = original
        while (found := _first_idle(graph)) is not None:
            operator, kept, gone = found
            counts[operator.code] = counts.get(operator.code, 0) + 1
            graphs[number] = graph = moved_reads(graph, operator, kept, gone)
    changes = tuple(
        Change(IDLE, f"idle {code}", "removed", count) for code, count in counts.items()
    )
    return Rewritten(with_graphs(network, graphs), changes) if changes else None


def _first_idle(graph: Graph) -> tuple[Operator, int, int] | None:
    """Return an idle operator, the tensor that stays for its input and output, and the other."""
    candidates = [op for op in graph.operators if _may_be_idle(op, graph)]
    known = bounds_of(graph) if candidates else {}
    for operator in candidates:
        site, target = BoundedSite(operator, graph, known), operator.outputs[0]
        (source,) = (tensor.index for tensor in site.inputs if tensor.data is None)
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
    if operator.code not in _ELEMENTWISE or len(operator.outputs) != 1:
        return False
    target = graph.tensors[operator.outputs[0]]
    read = [graph.tensors[i] for i in operator.inputs if i != ABSENT]
    varying = [tensor for tensor in read if tensor.data is None]
    if len(varying) != 1 or varying[0].is_variable or target.index in graph.inputs:
        return False
    return varying[0].shape == target.shape and are_alike(varying[0], target)


def _is_idle(site: BoundedSite, source: int) -> bool:
    """Return whether each value that the input may have is also the output's, in each channel."""
    tensor, bounds = site.graph.tensors[source], site.known.get(source)
    if bounds is None or tensor.dtype == "int16":
        return False
    count = channels_of(tensor)
    for value in range(int(bounds.low.min()), int(bounds.high.max()) + 1):
        one = np.full(count, value, np.int64)
        known = {**site.known, source: Bounds(one, one)}
        try:
            found = TRANSFERS[site.operator.code](replace(site, known=known))
        except (UnsupportedError, ValueError, IndexError):
            return False
        if found is None or found.low.size != count:
            return False
        may_be = (bounds.low <= value) & (value <= bounds.high)
        if ((found.low != value) | (found.high != value))[may_be].any():
            return False
    return True


def moved_reads(graph: Graph, operator: Operator, kept: int, gone: int) -> Graph:
    """Return a graph without an operator, in which one tensor stands for another."""

    def moved(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(kept if index == gone else index for index in indices)

    others = [
        replace(op, inputs=moved(op.inputs), outputs=moved(op.outputs))
        for op in graph.operators
        if op.index != operator.index
    ]
    return compacted(graph, graph.tensors, others)


def remove_unread(network: Network) -> Rewritten | None:
    """Remove operators whose outputs nobody reads."""
    graphs, count = {}, 0
    for number, graph in enumerate(network.graphs):
        read, left = set(graph.outputs), list[Operator]()
        for operator in reversed(graph.operators):
            if is_pure(operator, graph) and not read & {*operator.outputs}:
                continue
            left.insert(0, operator)
            read |= {*operator.inputs}
        if len(left) < len(graph.operators):
            graphs[number] = compacted(graph, graph.tensors, left)
            count += len(graph.operators) - len(left)
    if not count:
        return None
    change = Change(UNREAD, "unread operator", "removed", count)
    return Rewritten(with_graphs(network, graphs), (change,))


def is_pure(operator: Operator, graph: Graph) -> bool:
    """Return whether an operator has no effect but its outputs, and never fails."""
    used = (i for i in (*operator.inputs, *operator.outputs) if i != ABSENT)
    is_known = operator.code in TRANSFERS or operator.code in CARRIERS
    return is_known and not any(graph.tensors[i].is_variable for i in used)


IDLE_OPERATORS = Rewrite(
    IDLE,
    "for each value that an operator's input may have, its output has the same value, and both "
    "have one scale and zero point",
    remove_idle,
)
UNREAD_OPERATORS = Rewrite(
    UNREAD, "nobody reads an operator's outputs, and it has no other effect", remove_unread
)
