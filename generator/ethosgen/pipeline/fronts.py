"""Tries strategies and arena limits of the NPU's compiler: less SRAM for more time."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from ethosgen.pipeline.costs import Place, compile_at, cost_of, find_place, measure_point
from ethosgen.values.comparison import Cost, Point, Result, Tried, front
from ethosgen.values.errors import EthosgenError
from ethosgen.values.plan import OffloadOptions
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


def measure_front(point: Point) -> tuple[Result, ...]:
    """Measure the configurations on the front of a point's network, NPU and memory mode.

    The point's own schedule is where the search starts. Only configurations on the front are
    compared with the oracle.
    """
    try:
        place = find_place(point)
    except EthosgenError as error:
        return (Result(point.setting, refusal=str(error)),)
    found = explore(attempt_at(place, point.options), point.setting.schedule)
    if not found or place.accelerator is None:
        return (measure_point(point),)
    settings = [replace(point.setting, schedule=one.schedule) for one in found]
    return tuple(measure_point(replace(point, setting=one)) for one in settings)


def attempt_at(place: Place, options: OffloadOptions) -> Attempt:
    """Return a function that compiles for a place, without the check of outputs."""

    def attempt(schedule: Schedule) -> Cost | None:
        try:
            program = compile_at(place, replace(options, schedule=schedule, check=False))
        except EthosgenError:
            return None
        return cost_of(program, place)

    return attempt
