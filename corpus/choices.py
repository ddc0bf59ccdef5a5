"""Where generators get their choices from: a seed, or hypothesis."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from network_file import Spec

T = TypeVar("T")

_STEPS = 1000
"""Steps of a real choice; hypothesis shrinks integers better than reals."""


class Source(Protocol):
    """Answers one kind of question: an integer from low to high, both included."""

    def __call__(self, low: int, high: int) -> int: ...


class Choices:
    """Choices of the kinds that generators need; the first option is the simplest one.

    `high_rank` asks for shapes of rank 5 and 6 where a generator takes any. `offers` are tensors
    that an input can be connected to afterwards: a generator then often takes their shapes.
    """

    def __init__(self, source: Source) -> None:
        self.integer = source
        self.high_rank = False
        self.offers: Sequence[Spec] = ()

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of the options; repeat one to make it likelier."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        """Say yes once in so many times."""
        return self.integer(0, one_in - 1) == one_in - 1

    def real(self, low: float, high: float) -> float:
        """Choose a positive real, evenly on a logarithmic scale, as float32 holds it."""
        part = self.integer(0, _STEPS) / _STEPS
        return float(np.float32(low * math.exp(part * math.log(high / low))))


def seeded(*seed: int) -> Choices:
    """Return choices that depend on the seed alone."""
    random = np.random.default_rng(seed)
    return Choices(lambda low, high: int(random.integers(low, high, endpoint=True)))


def drawn(draw: Any) -> Choices:
    """Return choices that hypothesis makes; `draw` is what its `composite` hands over."""
    from hypothesis import strategies

    return Choices(lambda low, high: int(draw(strategies.integers(low, high))))
