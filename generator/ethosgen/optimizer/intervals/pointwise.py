"""Elementwise operators, element by element: values instead of the bounds of a channel."""

from collections.abc import Mapping
from dataclasses import replace

from ethosgen.optimizer.intervals.bounds import Bounds
from ethosgen.optimizer.intervals.elementwise import ELEMENTWISE
from ethosgen.optimizer.intervals.site import BoundedSite
from ethosgen.values.errors import UnsupportedError


def images(site: BoundedSite, elements: Mapping[int, Bounds]) -> Bounds | None:
    """Return the bounds of an elementwise operator's outputs for elements of its inputs.

    `elements` has those of each input, all of one size. Where the ends of an image are equal, every
    oracle computes that value. None for another operator, or if nothing is known.
    """
    transfer = ELEMENTWISE.get(site.operator.code)
    sizes = {bounds.low.size for bounds in elements.values()}
    if transfer is None or len(sizes) != 1 or site.target.dtype not in ("int8", "uint8", "int16"):
        return None
    (size,) = sizes
    shaped = {
        tensor.index: replace(tensor, shape=(size,)) for tensor in (*site.inputs, site.target)
    }
    tensors = tuple(shaped.get(tensor.index, tensor) for tensor in site.graph.tensors)
    graph = replace(site.graph, tensors=tensors)
    try:
        image = transfer(replace(site, graph=graph, known={**site.known, **elements}))
    except (UnsupportedError, ValueError, IndexError):  # contradictions, which others report
        return None
    return image if image is not None and image.low.size == size else None
