"""Tries strategies, arena limits and heads on the CPU: less SRAM for more time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ethosgen.values.configurations import Cost, Tried, front
from ethosgen.values.schedule import Schedule, Strategy, Streaming

RATIO = 0.9
"""The ratio of one arena limit to the next larger one that is tried."""
STEPS = 24
"""Maximum number of limits to try: down to a twelfth."""
STUCK = 3
"""The search ends after this many limits in a row that save nothing."""
GRAIN = 16
"""Limits are multiples of this many bytes, as are Vela's allocations."""
STRIPED = 1.5
"""The NPU may need this many times less than whole tensors, by Vela's stripes."""

Attempt = Callable[[Schedule], Cost | None]
"""Compiles with a schedule; returns None for one that is refused."""


def explore(
    attempt: Attempt, usual: Schedule, aim: int | None = None, heads: Sequence[int] = ()
) -> list[Tried]:
    """Return the Pareto front of SRAM against time, by SRAM.

    It tries the default schedule, Vela's strategy "size", and limits below what the default needs;
    with an `aim`, also a limit that may bring the SRAM just below it. On the CPU alone, an aim
    needs only the lowest limit. `heads` are values of `bands_above`, the shortest head first, to
    try where everything else needs more.
    """
    tried: list[Tried] = []

    def try_out(schedule: Schedule) -> Cost | None:
        cost = attempt(schedule)
        if cost is not None:
            tried.append(Tried(schedule, cost))
        return cost

    first = try_out(usual)
    can_stream = first is not None and not first.partitions and usual.stream is Streaming.AUTO
    if usual.strategy is not Strategy.SIZE:
        try_out(replace(usual, strategy=Strategy.SIZE))
    if first is not None and (first.partitions or can_stream):
        if aim is not None and first.sram_bytes > aim:
            limit = near_bytes(first) - (first.sram_bytes - aim)
            _try_limit(try_out, usual, limit)
            if can_stream:  # the lowest limit
                _try_limit(try_out, usual, GRAIN)
        if first.partitions or aim is None:
            _descend(try_out, usual, near_bytes(first))
    if first is not None and first.partitions:
        least = min((trial.cost for trial in tried), key=lambda cost: cost.sram_bytes)
        _lengthen(try_out, usual, heads, least)
    return [tried[index] for index in front([trial.cost for trial in tried])]


def _descend(try_out: Attempt, usual: Schedule, needed: int) -> None:
    """Try smaller and smaller limits, skipping those that the last result already meets.

    The arena also has the CPU's tensors, so it may be larger than a limit that Vela has met.
    """
    reached, stuck = needed, 0
    for step in range(1, STEPS + 1):
        limit = int(needed * RATIO**step)
        if limit >= reached:
            continue
        cost = _try_limit(try_out, usual, limit)
        is_less = cost is not None and near_bytes(cost) < reached
        stuck = 0 if is_less else stuck + 1
        if cost is not None and is_less:
            reached = near_bytes(cost)
        if stuck == STUCK:
            return


def _lengthen(try_out: Attempt, usual: Schedule, heads: Sequence[int], least: Cost) -> None:
    """Try less and less SRAM, each time with the shortest head that allows it."""
    left = list(heads)
    for _ in range(STEPS):
        less = int(least.arena_bytes * (1 - RATIO)) // GRAIN * GRAIN + GRAIN
        tried = shortest_head(try_out, usual, left, least, least.sram_bytes - less)
        if tried is None:
            return
        left = left[left.index(tried.schedule.bands_above or 0) :]
        least = tried.cost


def shortest_head(
    attempt: Attempt, usual: Schedule, heads: Sequence[int], least: Cost, sram_bytes: int
) -> Tried | None:
    """Return the first head that fits some SRAM, None if none does; `least` needs more."""
    aim = max(least.arena_bytes - (least.sram_bytes - sram_bytes), 0)
    for above in heads:
        schedule = replace(usual, arena_bytes=aim, bands_above=above)
        cost = attempt(schedule) if above <= STRIPED * aim else None
        if cost is not None and cost.sram_bytes <= sram_bytes:
            return Tried(schedule, cost)
    return None


def _try_limit(try_out: Attempt, usual: Schedule, limit: int) -> Cost | None:
    """Try the strategy "performance" with a limit, in whole grains, and the usual slices."""
    whole = limit // GRAIN * GRAIN
    schedule = Schedule(Strategy.PERFORMANCE, whole, feed=usual.feed, steps=usual.steps)
    return try_out(schedule) if whole > 0 else None


def near_bytes(cost: Cost) -> int:
    """Return the bytes that an arena limit applies to: the NPU's own SRAM, otherwise the arena."""
    return cost.fast_bytes or cost.arena_bytes
