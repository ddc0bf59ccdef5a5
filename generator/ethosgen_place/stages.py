"""Cuts a chain of operators into stages: the slowest as fast as possible, then few bytes between.

Stages are runs of consecutive operators, so they form no cycle. The first step is the partition of
a chain with the least bottleneck, by bisection on its value (A. Pinar and C. Aykanat, "Fast optimal
load balancing algorithms for 1D partitioning", 2004). The second is dynamic programming over the
cuts that respect it.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise


def cut(cycles: Sequence[int], stages: int, crossing: Sequence[int]) -> list[int]:
    """Return the first operator of each stage.

    `crossing[i]` are the bytes that are handed over if a stage begins with operator i. There are at
    least as many operators as stages.
    """
    sums = [0, *accumulate(cycles)]
    limit = _bottleneck(sums, stages)
    count = len(cycles)
    best = [[math.inf] * (count + 1) for _ in range(stages + 1)]
    came = [[0] * (count + 1) for _ in range(stages + 1)]
    best[0][0] = 0
    for stage in range(1, stages + 1):
        for end in range(stage, count - (stages - stage) + 1):
            for start in range(end - 1, stage - 2, -1):
                if sums[end] - sums[start] > limit:
                    break
                cost = best[stage - 1][start] + (crossing[start] if start else 0)
                if cost < best[stage][end]:
                    best[stage][end], came[stage][end] = cost, start
    starts, end = [], count
    for stage in range(stages, 0, -1):
        end = came[stage][end]
        starts.append(end)
    return starts[::-1]


def _bottleneck(sums: Sequence[int], stages: int) -> int:
    """Return the least cycles of the slowest of at most `stages` runs."""
    low = max(b - a for a, b in pairwise(sums))
    high = sums[-1]
    while low < high:
        middle = (low + high) // 2
        if _runs(sums, middle) <= stages:
            high = middle
        else:
            low = middle + 1
    return low


def _runs(sums: Sequence[int], limit: int) -> int:
    """Return the least number of runs of at most `limit` cycles each."""
    start = runs = 0
    while start < len(sums) - 1:
        start = bisect_right(sums, sums[start] + limit) - 1
        runs += 1
    return runs
