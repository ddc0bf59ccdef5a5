"""All shapes of the benchmark, each once."""

from collections.abc import Iterator
from functools import cache

from bench.shapes import drawn
from bench.shapes.published import NETWORKS
from bench.shapes.shape import FLOAT, INT8, INT16, Case, Layer, Shape

DRAWN = "drawn"
TYPES = (INT8, INT16, FLOAT)
FLOATS_EVERY = 4
"""Of the shapes that have a float32 variant, every fourth is measured with it."""


def _all() -> Iterator[tuple[str, Layer]]:
    for network, layers in NETWORKS.items():
        yield from ((network, layer) for layer in layers)
    yield from ((DRAWN, layer) for layer in drawn.layers())


@cache
def shapes() -> tuple[Shape, ...]:
    """Return all shapes; one that several networks have is named after the first."""
    known: dict[tuple[str, str], Shape] = {}
    for origin, layer in _all():
        key = layer.family, layer.sizes
        known.setdefault(key, Shape(" ".join(key), layer.family, origin, layer.build, layer.dtypes))
    return tuple(known.values())


def cases(*dtypes: str) -> list[Case]:
    """Return the cases of some types, all by default."""
    return [Case(shape, dtype) for dtype in dtypes or TYPES for shape in _of_type(dtype)]


def _of_type(dtype: str) -> list[Shape]:
    typed = [shape for shape in shapes() if dtype in shape.dtypes]
    return typed[::FLOATS_EVERY] if dtype == FLOAT else typed
