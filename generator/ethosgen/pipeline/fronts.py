"""Tries strategies and arena limits of the NPU's compiler: less SRAM for more time."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ethosgen.values.comparison import Cost, Tried, front
from ethosgen.values.schedule import Schedule, Strategy

RATIO = 0.8
"""The ratio of one arena limit to the next larger one that is tried."""
STEPS = 12
"""The most limits that are tried: down to a fourteenth."""
GRAIN = 16
"""Limits are multiples of so many bytes, as Vela's allocations are."""

Attempt = Callable[[Schedule], Cost | None]
"""Compiles with a schedule; returns None for one that is refused."""


def explore(attempt: Attempt, usual: Schedule, aim: int | None = None) -> list[Tried]:
    """Return the Pareto front of SRAM against time, by SRAM.

    It tries the usual schedule, Vela's strategy "size", and limits below what the usual one needs;
    with an `aim`, also limits that may bring the SRAM just below it.
    """
    first = attempt(usual)
    tried = [Tried(usual, first)] if first else []
    for schedule in _schedules(usual, first, aim):
        cost = attempt(schedule)
        if cost is not None:
            tried.append(Tried(schedule, cost))
    return [tried[index] for index in front([one.cost for one in tried])]


def _schedules(usual: Schedule, first: Cost | None, aim: int | None) -> Iterator[Schedule]:
    """Yield the other schedules in the order in which they are tried."""
    if usual.strategy is not Strategy.SIZE:
        yield replace(usual, strategy=Strategy.SIZE)
    if first is None or first.partitions == 0:
        return
    needed = near_bytes(first)
    fast = Strategy.PERFORMANCE
    if aim is not None and first.sram_bytes > aim:
        rest = needed - (first.sram_bytes - aim)  # if the parts besides the arena stay as they are
        if rest >= GRAIN:
            yield Schedule(fast, rest // GRAIN * GRAIN)
    for step in range(1, STEPS + 1):
        limit = int(needed * RATIO**step) // GRAIN * GRAIN
        if limit >= GRAIN:
            yield Schedule(fast, limit)


def near_bytes(cost: Cost) -> int:
    """Return the bytes that an arena limit limits: the NPU's own SRAM, else the arena."""
    return cost.fast_bytes or cost.arena_bytes
