"""The rewrite that merges QUANTIZE after QUANTIZE, if for all values one does the same."""

import numpy as np

from ethosgen.optimizer.intervals.analysis import bounds_of
from ethosgen.optimizer.intervals.bounds import Bounds, Ints
from ethosgen.optimizer.intervals.pointwise import images
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import Graph, Network, Operator

NAME = "merged-requantizations"
_BYTES = ("int8", "uint8")


def merge(network: Network) -> Rewritten | None:
    """Let a QUANTIZE read the input of the QUANTIZE before it."""
    return in_each_graph(network, _merge_first, NAME, "QUANTIZE", "merged")


def _merge_first(graph: Graph) -> tuple[Graph, int]:
    """Merge the first pair."""
    makers = {op.outputs[0]: op for op in graph.operators if op.code == "QUANTIZE"}
    pairs = [
        (makers[op.inputs[0]], op)
        for op in graph.operators
        if op.code == "QUANTIZE" and op.inputs[0] in makers
    ]
    known = bounds_of(graph) if pairs else {}
    for before, behind in pairs:
        source, middle = before.inputs[0], before.outputs[0]
        tensors = [graph.tensors[index] for index in (source, middle, behind.outputs[0])]
        is_plain = not any(tensor.is_variable for tensor in tensors)
        if not is_plain or len(graph.readers(middle)) > 1 or middle in graph.outputs:
            continue
        if tensors[0].dtype not in _BYTES or tensors[0].dtype != tensors[2].dtype:
            continue
        edit = GraphEdit(graph)
        edit.set_input(behind.index, 0, source)
        del edit.operators[before.index]
        direct = edit.operators[behind.index]
        values = np.arange(known[source].low.min(), known[source].high.max() + 1)
        twice = _image(graph, behind, _image(graph, before, values))
        once = _image(graph, direct, values)
        if twice is not None and once is not None and (twice == once).all():
            return edit.done(), 1
    return graph, 0


def _image(graph: Graph, operator: Operator, values: Ints | None) -> Ints | None:
    """Return the values after a QUANTIZE, None unless all oracles agree on them."""
    if values is None:
        return None
    elements = {operator.inputs[0]: Bounds(values, values)}
    image = images(BoundedSite(operator, graph, {}), elements)
    return image.low if image is not None and image.constant.all() else None


MERGED_REQUANTIZATIONS = Rewrite(
    NAME,
    "a QUANTIZE reads a QUANTIZE that nobody else reads, both ends are int8 or uint8, and for each "
    "value that the first may read one QUANTIZE computes what both do, by every rounding",
    merge,
)
