"""Cuts for given links: equal to the best of all cuts that can be routed over them."""

from itertools import combinations, pairwise
from math import inf

import numpy as np
import pytest

from ethosgen.stages.cuts import cut, positions
from ethosgen.stages.linked import balance_linked, reachable
from ethosgen.stages.routes import route
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.wiring import Ways, chain_ways, graph_ways, host_ways
from tests.stages.test_cuts import late_input, residual
from tests.stages.test_graphs import branches, forked


def can_route(network: Network, boundaries: tuple[int, ...], ways: Ways) -> bool:
    stages = cut(network, boundaries)
    names = [f"s{k}" for k in range(len(stages))]
    try:
        route(network.graph, stages, names, ways, [1] * len(stages))
    except InputError as error:
        assert "[[links]]" in str(error)
        return False
    return True


@pytest.mark.parametrize("make", [residual, late_input, branches, forked])
def test_the_best_of_all_cuts_that_the_links_allow(make) -> None:  # type: ignore[no-untyped-def]
    network = make()
    random = np.random.default_rng(11)
    places = positions(network.graph)
    counts = {True: 0, False: 0}
    for stages in range(2, len(places)):
        pairs = list(combinations(range(stages), 2))
        for _ in range(12):
            chosen = frozenset(pair for pair in pairs if random.random() < 0.5)
            ways = host_ways(stages) | chosen
            work = random.integers(1, 100, (stages, len(network.graph.operators)))

            def cost(stage: int, start: int, stop: int, work=work) -> float:  # type: ignore[no-untyped-def]
                return float(work[stage, start:stop].sum())

            def slowest(ends: tuple[int, ...], cost=cost) -> float:  # type: ignore[no-untyped-def]
                return max(cost(k, a, b) for k, (a, b) in enumerate(pairwise(ends)))

            every = [(0, *inner, places[-1]) for inner in combinations(places[1:-1], stages - 1)]
            best = min((slowest(e) for e in every if can_route(network, e, ways)), default=inf)
            ends = balance_linked(network.graph, places, stages, ways, cost)
            counts[ends is not None] += 1
            assert (inf if ends is None else slowest(ends)) == best
            assert ends is None or can_route(network, ends, ways)
    assert all(counts.values())  # links that suffice, and others that do not


def test_a_way_may_lead_through_other_stages_but_not_the_host() -> None:
    assert reachable(chain_ways(4), 4) == frozenset(combinations(range(4), 2))
    assert reachable(graph_ways(3), 3) == frozenset(combinations(range(3), 2))
    assert reachable(host_ways(3), 3) == frozenset()
    assert reachable(host_ways(4) | {(0, 2), (2, 3)}, 4) == {(0, 2), (2, 3), (0, 3)}
