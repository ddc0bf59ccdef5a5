"""Shows a comparison as tables: one for each network on a board."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ethosgen.commands.sizes import size_text
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.configurations import ComparisonReport, Cost, Result, SramChoice, Tried, groups
from ethosgen.values.grammar import counted
from ethosgen.values.schedule import Schedule, Strategy
from ethosgen.values.time import rounded

NONE = "-"
"""An unknown figure."""

QUALITY = (
    "Cycles are estimates: the NPU model's for the NPU (Vela's are beside them), stored costs for",
    "the CPU, which 'ethosgen verify' counts (docs/cycles.md). No silicon was measured.",
    "'equal' was: the outputs of {run}, compared with the oracle's.",
)
_ON_NPU, _ON_CPU = "the NPU model", "this machine's CPU"


@dataclass(frozen=True)
class Column:
    """A column: its title, its cells, and whether a narrow table has it."""

    title: str
    cell: Callable[[Result, Cost], str]
    is_narrow: bool = True
    to_left: bool = False


COLUMNS = (
    Column("", lambda result, _: "*" if result.on_front else "", to_left=True),
    Column("NPU", lambda result, _: result.setting.npu, to_left=True),
    Column("memory mode", lambda result, _: result.setting.memory_mode or NONE, to_left=True),
    Column("schedule", lambda result, _: schedule_text(result.setting.schedule), to_left=True),
    Column("cycles", lambda _, cost: _bounded(cost, f"{cost.cycles:,}")),
    Column("NPU (Vela)", lambda _, cost: _count(cost.npu_cycles), is_narrow=False),
    Column("NPU (model)", lambda _, cost: _count(cost.model_cycles), is_narrow=False),
    Column("CPU", lambda _, cost: f"{cost.cpu_cycles + cost.start_cycles:,}", is_narrow=False),
    Column("ms", lambda _, cost: _bounded(cost, milliseconds(cost))),
    Column("arena", lambda _, cost: size_text(cost.arena_bytes), is_narrow=False),
    Column("SRAM", lambda _, cost: size_text(cost.sram_bytes)),
    Column("flash", lambda _, cost: size_text(cost.flash_bytes)),
    Column("energy", lambda _, cost: energy_text(cost), is_narrow=False),
    Column("exact", lambda result, _: exact_text(result)),
)


def report_lines(report: ComparisonReport, width: int) -> Iterator[str]:
    """Yield the report for people, in tables of at most this width if that is possible."""
    grouped = groups(report.results)
    is_wide = max(map(_width, map(_rows, grouped.values()))) <= width
    for results in grouped.values():
        yield _title(results)
        yield from _table(results, is_wide)
        yield from _reasons(results)
        yield ""
    if any(_has_stars(results) for results in grouped.values()):
        yield "* no other row of the table is faster with as little SRAM, or smaller and as fast"
    if any(result.cost for result in report.results):
        yield from (line.format(run=_who_ran(report.results)) for line in QUALITY)
    missing = {code for result in report.results if result.cost for code in result.cost.without}
    if missing:
        yield f"+ ?: without {', '.join(sorted(missing))}, whose cycles are unknown."
    if any(result.cost and result.cost.code_bytes is None for result in report.results):
        yield "Flash is weights, constants and commands; --build adds the library's code."
    energies = {result.cost.energy for result in report.results if result.cost}
    for source in sorted({energy.source for energy in energies if energy is not None}):
        yield f"Energy is published power times estimated time: {source}"
    yield from sorted({note for result in report.results for note in result.notes})


def _who_ran(results: Sequence[Result]) -> str:
    """Name the computer of the compared outputs; without an NPU, the NPU model did not run."""
    on_npu = {result.setting.npu != NO_NPU for result in results if result.cost is not None}
    return " and ".join(who for kind, who in ((True, _ON_NPU), (False, _ON_CPU)) if kind in on_npu)


def _title(results: Sequence[Result]) -> str:
    setting = results[0].setting
    cost = next((result.cost for result in results if result.cost is not None), None)
    clocks = []
    if cost is not None:
        clocks = [f"CPU {_hz(cost.cpu_hz)}"]
        if any(result.cost and result.cost.model_cycles is not None for result in results):
            clocks.append(f"NPU {_hz(cost.npu_hz)}")
    suffix = f" ({', '.join(clocks)})" if clocks else ""
    return f"{setting.network} on {setting.board}{suffix}"


def _rows(results: Sequence[Result], is_wide: bool = True) -> list[tuple[str, ...]]:
    """Return the head and the rows with figures."""
    columns = _columns(results, is_wide)
    rows = [tuple(column.title for column in columns)]
    for result in results:
        if result.cost is not None:
            cost = result.cost
            rows.append(tuple(column.cell(result, cost) for column in columns))
    return rows


def _columns(results: Sequence[Result], is_wide: bool) -> list[Column]:
    """Return the columns that are not empty."""
    costs = [result.cost for result in results if result.cost is not None]
    idle = set()
    if all(cost.energy is None for cost in costs) and not is_wide:
        idle.add("energy")
    if len({result.setting.schedule for result in results}) == 1 and _is_usual(results[0]):
        idle.add("schedule")
    if all(cost.model_cycles is None for cost in costs):
        idle |= {"NPU (Vela)", "NPU (model)", "CPU"}
    if not _has_stars(results):
        idle.add("")
    return [
        column for column in COLUMNS if column.title not in idle and (is_wide or column.is_narrow)
    ]


def _has_stars(results: Sequence[Result]) -> bool:
    """Return whether some rows, and not all of them, are on the front."""
    return len({result.on_front for result in results if result.cost is not None}) == 2


def _is_usual(result: Result) -> bool:
    return result.setting.schedule == Schedule()


def _width(rows: Sequence[Sequence[str]]) -> int:
    return 2 + sum(2 + max(map(len, column)) for column in zip(*rows, strict=True))


def _table(results: Sequence[Result], is_wide: bool) -> Iterator[str]:
    columns, rows = _columns(results, is_wide), _rows(results, is_wide)
    if len(rows) == 1:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
    for row in rows:
        cells = [
            f"{cell:<{width}}" if column.to_left else f"{cell:>{width}}"
            for column, cell, width in zip(columns, row, widths, strict=True)
        ]
        yield "  " + "  ".join(cells).rstrip()


def _reasons(results: Sequence[Result]) -> Iterator[str]:
    """Yield a line for each configuration that is refused, does not fit, or was not compared."""
    for result in results:
        reason = result.refusal or result.misfit or result.unmeasured
        if reason and not result.unmeasured.startswith("no samples"):
            what = "refused" if result.refusal else "too large" if result.misfit else "not compared"
            yield f"  {what}: {where_text(result)}: {reason}"


def where_text(result: Result) -> str:
    """Return the NPU, memory mode and schedule of a result."""
    setting = result.setting
    words = [setting.npu, *([setting.memory_mode] if setting.memory_mode else [])]
    return ", ".join(words + ([] if _is_usual(result) else [schedule_text(setting.schedule)]))


NO_TENSOR = 64
"""A limit in bytes below which no network's tensors fit: it asks for the least SRAM."""


def choice_lines(choice: SramChoice) -> Iterator[str]:
    """Yield the schedule chosen for a limit of SRAM, and the cost of its neighbours."""
    limit = size_text(choice.limit_bytes)
    yield f"  limit     {choice.network} in {limit}: {_tried_text(choice.chosen)}"
    if choice.smaller is None:
        yield "            it is the smallest there is"
    else:
        yield f"            smaller: {_tried_text(choice.smaller, choice.chosen)}"
    if choice.larger is None:
        yield "            more SRAM would not make it faster"
    else:
        yield f"            larger: {_tried_text(choice.larger, choice.chosen)}"


def _tried_text(tried: Tried, chosen: Tried | None = None) -> str:
    """Return a configuration's SRAM and time, and its time relative to the chosen one's."""
    cost = tried.cost
    unit = "ms"
    time = f", {milliseconds(cost)} {unit}" if cost.seconds is not None else ""
    than = ""
    if chosen is not None and chosen.cost.cycles:
        than = f" ({cost.cycles / chosen.cost.cycles - 1:+.1%})"
    return (
        f"{schedule_text(tried.schedule)}: {size_text(cost.sram_bytes)} of SRAM, "
        f"{_bounded(cost, counted(cost.cycles, 'cycle'))}{time}{than}"
    )


def schedule_text(schedule: Schedule) -> str:
    """Return a schedule: what is optimized, the limit, and whether the CPU gets the head."""
    limit = "" if schedule.arena_bytes is None else f"≤ {size_text(schedule.arena_bytes)}"
    if schedule.arena_bytes is not None and schedule.arena_bytes < NO_TENSOR:
        limit = "with the least SRAM"
    name = "size" if schedule.strategy is Strategy.SIZE else "performance"
    head = "" if schedule.bands_above is None else "with the head in bands on the CPU"
    return " ".join(filter(None, (name, limit, head)))


def milliseconds(cost: Cost) -> str:
    """Return the time of an inference with two digits, a dash if a clock is unknown."""
    return NONE if cost.seconds is None else f"{rounded(1e3 * cost.seconds):,g}"


def energy_text(cost: Cost) -> str:
    """Return the energy of an inference, a dash if no figure is published."""
    return NONE if cost.energy is None else f"{_digits(1e6 * cost.energy.joules)} µJ"


def exact_text(result: Result) -> str:
    """Return the verdict: all outputs equal, how many differ, or a dash."""
    exactness = result.exactness
    if exactness is None:
        return NONE
    if exactness.is_exact:
        return f"{exactness.elements:,} equal"
    return f"{exactness.mismatches:,} of {counted(exactness.elements, 'output')} differ"


def _digits(value: float) -> str:
    rounded = float(f"{value:.4g}")
    return f"{rounded:,.0f}" if rounded >= 1000 else f"{rounded:.4g}"


def _bounded(cost: Cost, text: str) -> str:
    """Return a figure, marked if it leaves out operators without an estimate."""
    return f"{text} + ?" if cost.unknown_operators and text != NONE else text


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def _hz(value: int | None) -> str:
    return "at an unknown clock" if value is None else f"{value / 1e6:g} MHz"
