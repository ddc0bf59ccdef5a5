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
    found: dict[tuple[str, str], Shape] = {}
    for origin, layer in _all():
        key = layer.family, layer.sizes
        found.setdefault(key, Shape(" ".join(key), layer.family, origin, layer.build, layer.dtypes))
    return tuple(found.values())


def cases(*dtypes: str) -> list[Case]:
    """Return the cases of some types, all by default."""
    return [Case(one, dtype) for dtype in dtypes or TYPES for one in _of_type(dtype)]


def _of_type(dtype: str) -> list[Shape]:
    found = [one for one in shapes() if dtype in one.dtypes]
    return found[::FLOATS_EVERY] if dtype == FLOAT else found
