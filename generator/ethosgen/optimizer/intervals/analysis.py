"""The bounds of all tensors of a graph, for any inputs: an abstract interpretation."""

from collections.abc import Callable, Mapping

from ethosgen.optimizer.intervals.bounds import Bounds, channels_of, of_constant, whole
from ethosgen.optimizer.intervals.elementwise import ELEMENTWISE
from ethosgen.optimizer.intervals.layers import LAYERS, layer_bounds
from ethosgen.optimizer.intervals.movement import (
    concatenated,
    kept,
    mixed,
    padded,
    pooled,
    reshaped,
    transposed,
)
from ethosgen.optimizer.intervals.reduction import averaged
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Graph
from ethosgen.values.rescaling import limits

Transfer = Callable[[BoundedSite], Bounds | None]
"""Returns the bounds of an operator's output, None for the whole range of its type."""

TRANSFERS: Mapping[str, Transfer] = {
    **dict.fromkeys(LAYERS, layer_bounds),
    **ELEMENTWISE,
    **dict.fromkeys(("MAX_POOL_2D", "AVERAGE_POOL_2D"), pooled),
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), reshaped),
    "RESIZE_NEAREST_NEIGHBOR": kept,
    **dict.fromkeys(("STRIDED_SLICE", "SLICE", "GATHER", "TILE", "REVERSE_V2"), mixed),
    "TRANSPOSE": transposed,
    **dict.fromkeys(("PAD", "PADV2"), padded),
    "CONCATENATION": concatenated,
    "MEAN": averaged,
}
"""Operators whose outputs have a narrower range than their type; all others have the whole one."""


def bounds_of(graph: Graph) -> dict[int, Bounds]:
    """Return the bounds of each tensor of a type that has them."""
    known: dict[int, Bounds] = {}
    for tensor in graph.tensors:
        bounds = whole(tensor) if tensor.data is None else of_constant(tensor)
        if bounds is not None:
            known[tensor.index] = bounds
    for operator in graph.operators:
        transfer = TRANSFERS.get(operator.code)
        if transfer is None or len(operator.outputs) != 1:
            continue
        site = BoundedSite(operator, graph, known)
        bounds = _bounded(transfer, site)
        if bounds is not None and bounds.low.size == channels_of(site.target):
            known[site.target.index] = bounds
    return known


def _bounded(transfer: Transfer, site: BoundedSite) -> Bounds | None:
    """Return an output's bounds within its type, None if they are the whole range."""
    if site.target.index not in site.known or site.target.is_variable:
        return None
    try:
        bounds = transfer(site)
    except (UnsupportedError, ValueError, IndexError):  # contradictions, which others report
        return None
    return None if bounds is None else bounds.clamped(*limits(site.target.dtype))
