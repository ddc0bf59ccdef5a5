"""All shapes of the benchmark, each once."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from bench.shapes import drawn, published, zoo
from bench.shapes.shape import DRAWN, FLOAT, FRESH, INT8, INT16, Case, Layer, Shape

FRESH_SHARE = 3
"""A fresh draw has as many shapes as a third of the stored ones."""
TYPES = (INT8, INT16, FLOAT)
FLOATS_EVERY = 4
"""Of the shapes that have a float32 variant, every fourth is measured with it."""


def _all() -> Iterator[tuple[str, Layer]]:
    yield from _named(published.NETWORKS)
    yield from ((DRAWN, layer) for layer in drawn.layers())
    yield from _named(zoo.NETWORKS)


def _named(networks: Mapping[str, Sequence[Layer]]) -> Iterator[tuple[str, Layer]]:
    return ((network, layer) for network, layers in networks.items() for layer in layers)


@cache
def shapes() -> tuple[Shape, ...]:
    """Return all shapes; one that several networks have is named after the first."""
    known: dict[tuple[str, str], Shape] = {}
    for origin, layer in _all():
        key = layer.family, layer.sizes
        known.setdefault(key, Shape(" ".join(key), layer.family, origin, layer.build, layer.dtypes))
    return tuple(known.values())


def fresh(seed: int) -> tuple[Shape, ...]:
    """Draw shapes that are not stored, so that nothing was tuned to them; a seed's are the same."""
    stored = {shape.name for shape in shapes()}
    new = {
        name: Shape(name, layer.family, FRESH, layer.build, layer.dtypes)
        for layer in drawn.layers(seed)
        if (name := f"{layer.family} {layer.sizes}") not in stored
    }
    count = min(len(stored) // FRESH_SHARE, len(new))
    return tuple(random.Random(seed).sample(list(new.values()), count))


def cases(*dtypes: str, seed: int | None = None) -> list[Case]:
    """Return the cases of some types, all by default; with a seed, those of a fresh draw."""
    some = shapes() if seed is None else fresh(seed)
    return [Case(shape, dtype) for dtype in dtypes or TYPES for shape in _of_type(some, dtype)]


def _of_type(some: tuple[Shape, ...], dtype: str) -> list[Shape]:
    typed = [shape for shape in some if dtype in shape.dtypes]
    return typed[::FLOATS_EVERY] if dtype == FLOAT else typed
