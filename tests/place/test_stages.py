"""Cuts of a chain: compared with all possible ones."""

import itertools
import random

import pytest

from ethosgen_place.stages import cut


def every_cut(cycles: list[int], stages: int) -> list[list[int]]:
    return [[0, *inner] for inner in itertools.combinations(range(1, len(cycles)), stages - 1)]


def judged(cycles: list[int], starts: list[int], crossing: list[int]) -> tuple[int, int]:
    ends = [*starts[1:], len(cycles)]
    slowest = max(sum(cycles[a:b]) for a, b in zip(starts, ends, strict=True))
    return slowest, sum(crossing[start] for start in starts[1:])


@pytest.mark.parametrize("seed", range(40))
def test_no_cut_is_better(seed: int) -> None:
    rng = random.Random(seed)
    cycles = [rng.randint(1, 20) for _ in range(rng.randint(1, 9))]
    crossing = [rng.randint(0, 50) for _ in cycles]
    for stages in range(1, len(cycles) + 1):
        starts = cut(cycles, stages, crossing)
        assert len(starts) == stages
        best = min(judged(cycles, other, crossing) for other in every_cut(cycles, stages))
        assert judged(cycles, starts, crossing) == best


def test_a_long_chain_is_quick() -> None:
    assert len(cut([1] * 2000, 100, [1] * 2000)) == 100
