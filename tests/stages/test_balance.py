"""Balancing: equal to exhaustive search on small problems, and within the limits."""

from itertools import combinations, pairwise
from math import inf

import numpy as np
import pytest

from ethosgen.stages.balance import Cost, balance


def exhaustive(positions: list[int], stages: int, cost: Cost) -> float:
    """Return the slowest stage of the best of all ways to cut."""
    inner = positions[1:-1]
    return min(
        (
            slowest((positions[0], *chosen, positions[-1]), cost)
            for chosen in combinations(inner, stages - 1)
        ),
        default=inf,
    )


def slowest(boundaries: tuple[int, ...], cost: Cost) -> float:
    return max(cost(k, a, b) for k, (a, b) in enumerate(pairwise(boundaries)))


@pytest.mark.parametrize("seed", range(60))
def test_the_slowest_stage_is_as_fast_as_exhaustive_search_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    count, stages = int(random.integers(2, 11)), int(random.integers(1, 6))
    work = random.integers(1, 100, (stages, count))  # elements differ in speed
    hand = random.integers(0, 50, count + 1)
    size, room = random.integers(1, 20, count), random.integers(10, 90, stages)
    positions = [0, *(p for p in range(1, count) if random.random() < 0.8), count]

    def cost(stage: int, start: int, stop: int) -> float:
        if size[start:stop].sum() > room[stage]:
            return inf
        return float(work[stage, start:stop].sum() + hand[stop])

    boundaries = balance(positions, stages, cost)
    best = exhaustive(positions, stages, cost)
    assert (boundaries is None) == (best == inf)
    if boundaries is not None:
        assert len(boundaries) == stages + 1
        assert list(boundaries) == sorted(set(boundaries)) and set(boundaries) <= set(positions)
        assert slowest(boundaries, cost) == best


def test_more_stages_than_parts_have_no_answer() -> None:
    assert balance([0, 1, 2], 3, lambda *_: 1.0) is None


def test_one_stage_is_everything() -> None:
    assert balance([0, 1, 2], 1, lambda *_: 1.0) == (0, 2)
