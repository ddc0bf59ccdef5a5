"""Chooses the number of elements for each task.

The slowest stage takes max(time[i] / replicas[i]) for each sample. Giving one element after another
to the slowest stage of the moment minimizes this. It is the greedy algorithm for resource
allocation with a separable minimax objective (T. Ibaraki and N. Katoh, "Resource Allocation
Problems", 1988, chapter 5). It stays optimal when only some elements have enough memory for a task,
because these sets are nested (A. Federgruen and H. Groenevelt, Operations Research 34, 1986).

Replicas whose numbers have a common divisor g form g lanes that exchange nothing: samples with the
same remainder by g stay in one. Lanes have short paths, so there are as many as possible without
making the slowest stage slower than a tolerance allows.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Demand:
    """The needs of the tasks, and the available elements.

    `times` are those of one replica; `fixed` are numbers of replicas, None where they must be
    chosen. A task of level k fits the elements of class k and above; `capacities` counts the
    elements of each class.
    """

    times: Sequence[float]
    fixed: Sequence[int | None]
    levels: Sequence[int]
    capacities: Sequence[int]

    def room(self, counts: Sequence[int]) -> list[int]:
        """Return, for each class, the elements left of it and above, negative if too few."""
        left = [sum(self.capacities[k:]) for k in range(len(self.capacities))]
        for level, count in zip(self.levels, counts, strict=True):
            for k in range(level + 1):
                left[k] -= count
        return left


def balance(demand: Demand) -> list[int] | None:
    """Return the numbers of replicas with the least slowest stage, None if not even one each fits.

    No stage gets more replicas than it needs to be no slower than the slowest.
    """
    times, fixed = demand.times, demand.fixed
    counts = [count or 1 for count in fixed]
    room = demand.room(counts)
    if min(room) < 0:
        return None
    queue = [(-times[i] / count, i) for i, count in enumerate(counts)]
    heapq.heapify(queue)
    while True:
        i = queue[0][1]
        if fixed[i] is not None or min(room[: demand.levels[i] + 1]) < 1:
            return _trimmed(demand, counts)
        counts[i] += 1
        for k in range(demand.levels[i] + 1):
            room[k] -= 1
        heapq.heapreplace(queue, (-times[i] / counts[i], i))


def balance_in_lanes(demand: Demand, tolerance: float) -> list[int] | None:
    """Return balanced numbers with the greatest common divisor that the tolerance allows."""
    best = balance(demand)
    if best is None or any(count is not None for count in demand.fixed):
        return best
    limit = slowest(demand.times, best) * (1 + tolerance)
    for number in range(sum(demand.capacities) // len(demand.times), 1, -1):
        share = replace(demand, capacities=[count // number for count in demand.capacities])
        counts = balance(share)
        if counts is not None and slowest(demand.times, counts) / number <= limit:
            return [number * count for count in counts]
    return best


def slowest(times: Sequence[float], counts: Sequence[int]) -> float:
    """Return the time of the slowest stage for each sample."""
    return max(time / count for time, count in zip(times, counts, strict=True))


def lanes(counts: Sequence[int]) -> int:
    """Return the number of groups of replicas that exchange nothing with each other."""
    return math.gcd(*counts)


def _trimmed(demand: Demand, counts: Sequence[int]) -> list[int]:
    """Return the least numbers that make no stage slower than the slowest."""
    limit = slowest(demand.times, counts)
    return [
        count if fixed is not None else max(1, min(count, math.ceil(time / limit * (1 - 1e-12))))
        for time, count, fixed in zip(demand.times, counts, demand.fixed, strict=True)
    ]
