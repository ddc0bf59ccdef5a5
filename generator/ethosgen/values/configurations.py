"""Configurations of networks to compare, and their costs."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.values.grammar import counted
from ethosgen.values.plan import EXACT, OffloadOptions
from ethosgen.values.schedule import Schedule
from ethosgen.values.source import Source
from ethosgen.values.tabulation import make_dataframe


@dataclass(frozen=True)
class Setting:
    """A configuration: where a network runs, and how the NPU's compiler orders it.

    `npu` is a configuration or NO_NPU. `memory_mode` is None for the board's default.
    """

    network: str
    board: str
    npu: str
    memory_mode: str | None
    schedule: Schedule


@dataclass(frozen=True)
class Point:
    """A configuration to measure. Points can be pickled, so any process can measure them.

    The setting's schedule replaces that of `options`. `samples` is the number of random samples
    for exactness, by default fewer for a large network; 0 measures no exactness. `build` also
    compiles the firmware, for the size of its code.
    """

    source: Source
    setting: Setting
    options: OffloadOptions = EXACT
    samples: int | None = None
    seed: int = 0
    build: bool = False


@dataclass(frozen=True)
class Exactness:
    """The comparison of outputs on the NPU model with an oracle's; `oracle` is its short name."""

    oracle: str
    samples: int
    elements: int
    mismatches: int
    max_abs_diff: float = 0.0
    left_out: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether something was compared, and all of it is equal."""
        return self.elements > 0 and self.mismatches == 0


@dataclass(frozen=True)
class Energy:
    """The energy of an inference in joules: the published power of a core, times its time."""

    joules: float
    source: str


@dataclass(frozen=True)
class Cost:
    """The time of an inference and the memory of a configuration.

    `npu_cycles` is the estimate of the NPU's compiler, `model_cycles` the NPU model's, None if
    there is no NPU, a compiled file does not state it, or the model does not know the memories.
    `cpu_cycles` is the sum of the estimates for the CPU and users' accelerators, without the cycles
    in which an accelerator runs beside others. It leaves out `unknown_operators` operators without
    an estimate; `without` names those of the CPU. `start_cycles` are the CPU's for starting the
    NPU.
    """

    npu_cycles: int | None
    model_cycles: int | None
    cpu_cycles: int
    start_cycles: int
    unknown_operators: int
    npu_hz: int | None
    cpu_hz: int | None
    arena_bytes: int
    """The arena of NPU and CPU together."""
    fast_bytes: int
    """In dedicated_sram, what the NPU's own SRAM holds in addition."""
    sram_bytes: int
    """What part of the network is in SRAM: the arena, and in some modes weights and commands."""
    constant_bytes: int
    """Weights, other constants and commands: what the network takes of the flash, without code."""
    npu_operators: int | None
    cpu_operators: int
    partitions: int
    code_bytes: int | None = None
    """The library's code and tables, driver included; None if it was not built."""
    energy: Energy | None = None
    without: tuple[str, ...] = ()

    @property
    def time(self) -> float:
        """The seconds, or the cycles if a clock is unknown."""
        return float(self.cycles) if self.seconds is None else self.seconds

    @property
    def cycles(self) -> int:
        """The cycles of NPU and CPU together: the CPU waits for the NPU."""
        return (self.npu_estimate or 0) + self.cpu_cycles + self.start_cycles

    @property
    def npu_estimate(self) -> int | None:
        """The NPU's cycles: the model's, as `verify` counts them, else its compiler's."""
        return self.npu_cycles if self.model_cycles is None else self.model_cycles

    @property
    def seconds(self) -> float | None:
        """The time of an inference at the board's clocks, None if a needed one is unknown."""
        on_cpu = self.cpu_cycles + self.start_cycles
        shares = ((self.cycles - on_cpu, self.npu_hz), (on_cpu, self.cpu_hz))
        times = [cycles / hz if hz else None for cycles, hz in shares if cycles]
        return None if None in times else sum(time for time in times if time is not None)

    @property
    def flash_bytes(self) -> int:
        """The bytes in flash: constants, commands, and the code if it was built."""
        return self.constant_bytes + (self.code_bytes or 0)


@dataclass(frozen=True)
class Tried:
    """A schedule, and the cost of the network with it."""

    schedule: Schedule
    cost: Cost

    def as_json(self) -> dict[str, Any]:
        """Return the schedule, its SRAM and its time as an object of JSON types."""
        return {
            "strategy": self.schedule.strategy.value,
            "arena_limit_bytes": self.schedule.arena_bytes,
            "sram_bytes": self.cost.sram_bytes,
            "cycles": self.cost.cycles,
            "milliseconds": _milliseconds(self.cost),
        }


@dataclass(frozen=True)
class SramChoice:
    """The configuration chosen for an SRAM limit, with its neighbours on the front.

    `smaller` takes less SRAM, `larger` more than the limit; each is None if there is none.
    """

    network: str
    limit_bytes: int
    chosen: Tried
    smaller: Tried | None = None
    larger: Tried | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the choice and its neighbours as an object of JSON types."""
        return {
            "limit_bytes": self.limit_bytes,
            "chosen": self.chosen.as_json(),
            "smaller": self.smaller.as_json() if self.smaller else None,
            "larger": self.larger.as_json() if self.larger else None,
        }


@dataclass(frozen=True)
class Result:
    """A configuration's cost, or the reason why there is none.

    `misfit` names the memory of the board that is too small. `exactness` is None if it was not
    measured, for the reason `unmeasured`.
    """

    setting: Setting
    cost: Cost | None = None
    exactness: Exactness | None = None
    refusal: str = ""
    misfit: str = ""
    unmeasured: str = ""
    on_front: bool = False
    """Whether no other configuration of the network on the board is faster with as little SRAM."""
    notes: tuple[str, ...] = ()
    may_pass: bool = False
    """Whether a refusal is this machine's, so that another may measure the point."""

    @property
    def differs(self) -> bool:
        """Whether an output was measured and differs from the oracle's."""
        return self.exactness is not None and not self.exactness.is_exact

    def as_json(self) -> dict[str, Any]:
        """Return the result as a flat object of JSON types, also a row of a table."""
        schedule = self.setting.schedule
        row: dict[str, Any] = {
            "network": self.setting.network,
            "board": self.setting.board,
            "npu": self.setting.npu,
            "memory_mode": self.setting.memory_mode,
            "strategy": schedule.strategy.value,
            "arena_limit_bytes": schedule.arena_bytes,
            "refusal": self.refusal or None,
            "misfit": self.misfit or None,
            "on_front": self.on_front,
        }
        return row | _cost_json(self.cost) | _exactness_json(self)


def _milliseconds(cost: Cost) -> float | None:
    return None if cost.seconds is None else round(1e3 * cost.seconds, 6)


def _cost_json(cost: Cost | None) -> dict[str, Any]:
    """Return the columns of a cost; null without one."""
    energy = cost.energy if cost else None
    return {
        "cycles": cost.cycles if cost else None,
        "npu_cycles": cost.npu_cycles if cost else None,
        "npu_model_cycles": cost.model_cycles if cost else None,
        "cpu_cycles": cost.cpu_cycles if cost else None,
        "start_cycles": cost.start_cycles if cost else None,
        "unknown_operators": cost.unknown_operators if cost else None,
        "without": ", ".join(cost.without) if cost else None,
        "npu_hz": cost.npu_hz if cost else None,
        "cpu_hz": cost.cpu_hz if cost else None,
        "milliseconds": _milliseconds(cost) if cost else None,
        "arena_bytes": cost.arena_bytes if cost else None,
        "fast_bytes": cost.fast_bytes if cost else None,
        "sram_bytes": cost.sram_bytes if cost else None,
        "constant_bytes": cost.constant_bytes if cost else None,
        "code_bytes": cost.code_bytes if cost else None,
        "energy_microjoules": round(1e6 * energy.joules, 3) if energy else None,
        "energy_source": energy.source if energy else None,
        "npu_operators": cost.npu_operators if cost else None,
        "cpu_operators": cost.cpu_operators if cost else None,
        "partitions": cost.partitions if cost else None,
    }


def _exactness_json(result: Result) -> dict[str, Any]:
    """Return the columns of exactness."""
    exactness = result.exactness
    return {
        "exact": exactness.is_exact if exactness else None,
        "oracle": exactness.oracle if exactness else None,
        "samples": exactness.samples if exactness else None,
        "elements": exactness.elements if exactness else None,
        "mismatches": exactness.mismatches if exactness else None,
        "unmeasured": result.unmeasured or None,
        "notes": "; ".join(result.notes) or None,
    }


@dataclass(frozen=True)
class ComparisonReport:
    """All results, in the order of networks, boards, NPUs, memory modes and schedules."""

    results: tuple[Result, ...]
    versions: Mapping[str, str]
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether there is a result with figures, and no measured output differs."""
        measured = any(result.cost is not None for result in self.results)
        return measured and not any(result.differs for result in self.results)

    def to_dataframe(self) -> Any:
        """Return the results as a pandas DataFrame, a row each; ToolError without pandas."""
        return make_dataframe([result.as_json() for result in self.results])

    def __repr__(self) -> str:
        """Return "<ComparisonReport: 12 results>"."""
        return f"<ComparisonReport: {counted(len(self.results), 'result')}>"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "passed": self.passed,
            "versions": dict(self.versions),
            "results": [result.as_json() for result in self.results],
        }


def front(costs: Sequence[Cost | None]) -> list[int]:
    """Return the indices of the costs on the Pareto front of SRAM against time, by SRAM.

    Among equal ones, the first is on it.
    """
    times = durations(costs)
    known = [(i, cost) for i, cost in enumerate(costs) if cost is not None]
    ordered = sorted(known, key=lambda entry: (entry[1].sram_bytes, times[entry[0]], entry[0]))
    indices: list[int] = []
    for index, _ in ordered:
        if not indices or times[index] < times[indices[-1]]:
            indices.append(index)
    return indices


def durations(costs: Sequence[Cost | None]) -> list[tuple[int, float]]:
    """Return the time of each cost as a key that sorts them.

    It is in seconds, or in cycles if a clock is unknown to one of them. Costs with operators of
    unknown time come last: theirs leave these out.
    """
    have_seconds = all(cost.seconds is not None for cost in costs if cost is not None)

    def key(cost: Cost | None) -> tuple[int, float]:
        if cost is None:
            return sys.maxsize, 0.0
        seconds = cost.seconds if have_seconds else None
        return cost.unknown_operators, cost.cycles if seconds is None else seconds

    return [key(cost) for cost in costs]


def groups(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Return the results of each network on each board, in their order."""
    grouped: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        grouped.setdefault((result.setting.network, result.setting.board), []).append(result)
    return grouped
