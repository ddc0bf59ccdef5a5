"""Sources of the generators' choices: a seed, or hypothesis."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from tests.support.network_file import Spec

T = TypeVar("T")

_STEPS = 1000
"""Steps of a float choice; hypothesis shrinks integers better than floats."""


class Source(Protocol):
    """Chooses an integer from low to high, both included."""

    def __call__(self, low: int, high: int) -> int: ...


class Choices:
    """The kinds of choices that generators need; the first option is the simplest one.

    With `high_rank`, a generator that takes any rank chooses 5 or 6. `offers` are tensors that can
    be connected to an input afterwards: generators often choose their shapes.
    """

    def __init__(self, source: Source) -> None:
        self.integer = source
        self.high_rank = False
        self.offers: Sequence[Spec] = ()

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of the options; repeat one to make it likelier."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, one_in: int) -> bool:
        """Return True with a probability of 1 in `one_in`."""
        return self.integer(0, one_in - 1) == one_in - 1

    def real(self, low: float, high: float) -> float:
        """Choose a positive float32, uniformly on a logarithmic scale."""
        part = self.integer(0, _STEPS) / _STEPS
        return float(np.float32(low * math.exp(part * math.log(high / low))))


def seeded(*seed: int) -> Choices:
    """Return choices that depend only on the seed."""
    random = np.random.default_rng(seed)
    return Choices(lambda low, high: int(random.integers(low, high, endpoint=True)))


def drawn(draw: Any) -> Choices:
    """Return choices that hypothesis makes; `draw` is the argument from its `composite`."""
    from hypothesis import strategies

    return Choices(lambda low, high: int(draw(strategies.integers(low, high))))
