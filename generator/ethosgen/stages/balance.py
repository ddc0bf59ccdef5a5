"""Choose the cuts of a pipeline: its slowest stage as fast as possible, within the memories.

Dynamic programming over cuts: the best placement of the operators before a cut on the first k
elements follows from the best ones for k - 1. The chain-on-chain partitioning problem, solved
exactly in O(K * P^2) for K stages and P cuts.
"""

from collections.abc import Callable, Sequence
from math import inf

Cost = Callable[[int, int, int], float]
"""Time of stage `k` with the operators from one cut to another, infinite if it does not fit."""


def balance(positions: Sequence[int], stages: int, cost: Cost) -> tuple[int, ...] | None:
    """Return the boundaries of the stages, both ends included; None if no cuts fit.

    Each stage has at least one operator. Among equally fast results, the earliest cuts win.
    """
    last = len(positions) - 1
    best = [0.0, *[inf] * last]
    froms: list[list[int]] = []
    for stage in range(stages):
        step, came = [inf] * (last + 1), [0] * (last + 1)
        for stop in range(stage + 1, last + 1 - (stages - stage - 1)):
            for start in range(stage, stop):
                if best[start] >= step[stop]:
                    continue
                slowest = max(best[start], cost(stage, positions[start], positions[stop]))
                if slowest < step[stop]:
                    step[stop], came[stop] = slowest, start
        best = step
        froms.append(came)
    if best[last] == inf:
        return None
    at, boundaries = last, [last]
    for came in reversed(froms):
        at = came[at]
        boundaries.append(at)
    return tuple(positions[i] for i in reversed(boundaries))
