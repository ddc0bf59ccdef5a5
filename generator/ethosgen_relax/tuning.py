"""Finds a schedule of a PrimFunc by what a device takes for it.

It has the role of AutoTVM and meta schedule for microcontrollers: a space says how a schedule may
look, candidates are drawn from it, and the device runs them. Each must compute what the function
computes without a schedule.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm
from tvm import s_tir, tirx

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen_relax.functions import Array, read_function

if TYPE_CHECKING:
    from ethosgen_relax.device import RemoteDevice

Space = Callable[[Any], None]
"""Changes a tvm.s_tir.Schedule by decisions that the schedule draws."""

TRIALS = 32
"""The number of candidates that run by default."""
_DRAWS = 4
"""How often a space is drawn for each candidate; small spaces repeat themselves."""
_REDUCTION = 2
"""tvm.tirx.IterVar.CommReduce"""
_TILE, _STEPS = 8, 4
"""The largest tile of outputs along one axis, and the most steps of a reduction in it."""
_NEAR = 1e-4
"""The relative difference of floats that another order of sums explains."""


@dataclass(frozen=True)
class TriedSchedule:
    """A schedule that was tried: its function, and the device's count or the fault."""

    function: "tirx.PrimFunc"
    count: int
    fault: str = ""


@dataclass(frozen=True)
class Tuned:
    """The fastest function, its count in `unit`, and that of the function without a schedule.

    `candidates` are all that were tried, in their order.
    """

    function: "tirx.PrimFunc"
    count: int
    before: int
    unit: str
    candidates: tuple[TriedSchedule, ...]

    @property
    def gain(self) -> float:
        """How many times faster it is than without a schedule."""
        return self.before / self.count if self.count else 1.0


def tiles(schedule: Any) -> None:
    """Compute each reduction in tiles of outputs that stay in registers.

    The sizes of the tiles, and the steps of the reduction in one pass, are drawn.
    """
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        kinds = [axis.iter_type for axis in schedule.get(block).iter_vars]
        if _REDUCTION in kinds and len(kinds) == len(schedule.get_loops(block)):
            _tile(schedule, block, kinds)


def _tile(schedule: Any, block: Any, kinds: Sequence[int]) -> None:
    outer: dict[bool, list[Any]] = {False: [], True: []}
    inner: dict[bool, list[Any]] = {False: [], True: []}
    for loop, kind in zip(schedule.get_loops(block), kinds, strict=True):
        is_sum = kind == _REDUCTION
        sizes = schedule.sample_perfect_tile(loop, 2, _STEPS if is_sum else _TILE)
        for part, group in zip(schedule.split(loop, sizes), (outer, inner), strict=True):
            group[is_sum].append(part)
    schedule.reorder(*outer[False], *outer[True], *inner[True], *inner[False])
    stored = schedule.cache_write(block, 0, "global")
    if outer[False]:
        schedule.reverse_compute_at(stored, outer[False][-1])
    schedule.decompose_reduction(block, outer[True][0])
    for loop in (*inner[True], *inner[False]):
        schedule.unroll(loop)


def tune(
    function: "tirx.PrimFunc",
    *arguments: Any,
    device: "RemoteDevice",
    space: Space = tiles,
    trials: int = TRIALS,
    seed: int = 0,
) -> Tuned:
    """Return the fastest of a PrimFunc's schedules on a device.

    `arguments` are those of RemoteDevice.run, for which the times are. `space` gets a Schedule,
    which draws from `seed`. InputError if the function itself, or no candidate, runs on the device.
    """
    if trials < 1:
        raise InputError(f"trials is {trials}; at least one candidate must run")
    drawn = list(_drawn(function, space, trials, seed))
    first = device.run(function, *arguments)
    candidates = tuple(
        TriedSchedule(each, ran.count, ran.fault or _difference(ran.outputs, first.outputs))
        for each, ran in zip(drawn, device.run_each(drawn, *arguments), strict=True)
    )
    best = min(
        (each for each in candidates if not each.fault),
        key=lambda each: each.count,
        default=None,
    )
    if best is None:
        faults = sorted({each.fault for each in candidates})
        why = f": {faults[0]}" if faults else "; the space draws none that TVM accepts"
        raise InputError(f"no schedule of {counted(trials, 'trial')} runs on the device{why}")
    if first.count <= best.count:
        return Tuned(function, first.count, first.count, first.unit, candidates)
    return Tuned(best.function, best.count, first.count, first.unit, candidates)


def _drawn(
    function: "tirx.PrimFunc", space: Space, trials: int, seed: int
) -> "Iterator[tirx.PrimFunc]":
    """Yield different schedules of a function; ScheduleError of a draw skips it."""
    module = tvm.IRModule({"main": function})
    known = {_text(function)}
    seeds = np.random.default_rng(seed).integers(1, 1 << 31, trials * _DRAWS)
    for number in seeds:
        schedule = s_tir.Schedule(module, seed=int(number))
        try:
            space(schedule)
        except s_tir.ScheduleError:
            continue
        drawn = schedule.mod["main"]
        text = _text(drawn)
        if text not in known:
            known.add(text)
            yield drawn
        if len(known) > trials:
            return


def _text(function: "tirx.PrimFunc") -> str:
    """Return a function's C, or the reason why there is none."""
    try:
        return read_function(function).text
    except InputError as error:
        return str(error)


def _difference(ours: Sequence[Array], theirs: Sequence[Array]) -> str:
    for array, expected in zip(ours, theirs, strict=True):
        if array.dtype.kind != "f":
            is_equal = np.array_equal(array, expected)
        else:
            is_equal = np.allclose(array, expected, _NEAR, 0, equal_nan=True)
        if not is_equal:
            return "its outputs differ from those of the function without a schedule"
    return ""
