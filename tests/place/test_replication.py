"""Numbers of replicas: the least slowest stage of all possible ones, and lanes."""

import itertools
import random

import pytest

from ethosgen_place.replication import Demand, balance, balance_in_lanes, lanes, slowest


def every_choice(demand: Demand) -> list[tuple[int, ...]]:
    """Return all numbers of replicas that the elements allow."""
    most = sum(demand.capacities)
    spans = [range(n, n + 1) if n else range(1, most + 1) for n in demand.fixed]
    return [
        counts
        for counts in itertools.product(*spans)
        if sum(counts) <= most and min(demand.room(counts)) >= 0
    ]


@pytest.mark.parametrize("seed", range(40))
def test_no_choice_has_a_faster_slowest_stage(seed: int) -> None:
    rng = random.Random(seed)
    stages = rng.randint(1, 4)
    demand = Demand(
        [rng.randint(1, 50) for _ in range(stages)],
        [rng.choice((None, None, None, 1, 2)) for _ in range(stages)],
        [rng.randrange(2) for _ in range(stages)],
        [rng.randint(0, 6), rng.randint(0, 6)],
    )
    choices = every_choice(demand)
    balanced = balance(demand)
    if not choices:
        assert balanced is None
        return
    assert balanced is not None
    assert min(demand.room(balanced)) >= 0
    best = min(slowest(demand.times, counts) for counts in choices)
    assert slowest(demand.times, balanced) == best
    least = min(sum(counts) for counts in choices if slowest(demand.times, counts) == best)
    assert sum(balanced) == least, "no element is taken in vain"


def test_lanes_are_as_many_as_the_tolerance_allows() -> None:
    demand = Demand([10, 20, 30], [None] * 3, [0] * 3, [600])
    counts = balance_in_lanes(demand, 0.0)
    assert counts == [100, 200, 300]
    assert lanes(counts) == 100
    uneven = Demand([10, 21, 29], [None] * 3, [0] * 3, [600])
    few = balance_in_lanes(uneven, 0.02)
    many = balance_in_lanes(uneven, 0.1)
    assert few is not None and many is not None
    assert 1 <= lanes(few) < lanes(many)
    best = balance(uneven)
    assert best is not None
    assert slowest(uneven.times, many) <= 1.1 * slowest(uneven.times, best)


def test_one_replica_each_is_not_enough_for_no_elements() -> None:
    assert balance(Demand([1, 1], [None, None], [0, 0], [1])) is None
    assert balance_in_lanes(Demand([1, 1], [None, None], [0, 1], [3, 0]), 0.1) is None
