"""The places of the charts' marks: fractions of a chart's width and height, from the report."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ethosgen.backend.timeline import DMA_UNIT, NPU_UNIT
from ethosgen.report.content import (
    Area,
    Event,
    MemoryBlock,
    NetworkReport,
    ReportLayer,
    Roofline,
    Slot,
)
from ethosgen.values.grammar import counted
from ethosgen.values.plan import CPU

LANES = {NPU_UNIT: "NPU", DMA_UNIT: "DMA", CPU: "CPU"}
"""The titles of lanes, in their order; users' accelerators follow."""
_PLACES = {NPU_UNIT: "npu", DMA_UNIT: "dma", CPU: "cpu", "": "gone"}
"""The classes of style by place; users' accelerators are "other"."""
_TICKS = 6
_LONGEST_NAME = 36
_LEAST_HEIGHT = 0.045
"""The part of a memory that a block needs for a readable label."""
_NEAR = 2.0
"""Percent of a chart within which marks cover each other."""
_TEXT_WIDTH, _TEXT_HEIGHT = 20.0, 6.0
"""Percent of the roofline's chart that the text of a line takes."""
_TEXT_PLACES = (0.08, 0.2, 0.32, 0.44, 0.56, 0.68, 0.8)
"""Parts of a line at which its text may begin."""


@dataclass(frozen=True)
class Box:
    """A rectangle in percent of its chart, from the left and from the top."""

    x: float
    y: float
    width: float
    height: float
    style: str
    title: str
    label: str
    layer: int | None
    shorter: str = ""
    """What a narrow box shows instead of its label."""


@dataclass(frozen=True)
class Tick:
    """A line at `at` percent of an axis, and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Lane:
    """The work of one unit; `busy` is its fraction of the whole time."""

    title: str
    busy: float
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class MemoryChart:
    """A memory's blocks, with addresses from the bottom to the top; `scratch` is the NPU's top."""

    area: Area
    boxes: tuple[Box, ...]
    ticks: tuple[Tick, ...]
    scratch: float


@dataclass(frozen=True)
class Mark:
    """A point of the roofline; the last of several in one place has the `label` of all."""

    x: float
    y: float
    layer: int
    label: str
    style: str
    title: str
    is_above: bool = False
    """Whether the label is above the point, as another point is on its right."""


@dataclass(frozen=True)
class ChartLine:
    """A line in percent; `name` says what it represents."""

    x1: float
    y1: float
    x2: float
    y2: float
    name: str
    text: str
    text_x: float = 0
    text_y: float = 0


@dataclass(frozen=True)
class RoofChart:
    """The roofline's points, roofs and ticks; both axes are logarithmic."""

    marks: tuple[Mark, ...]
    lines: tuple[ChartLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def style_of(place: str) -> str:
    """Return the class of style of a lane or of a layer's place."""
    return _PLACES.get(place, "other")


def short(name: str) -> str:
    """Return the part of a tensor's name that distinguishes it."""
    text = "/".join(name.split(";", maxsplit=1)[0].split("/")[-2:])
    return text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"


def make_lanes(report: NetworkReport) -> list[Lane]:
    """Return the lanes that have work."""
    lanes: dict[str, list[Event]] = {lane: [] for lane in LANES}
    for event in report.timeline:
        lanes.setdefault(event.lane, []).append(event)
    whole = max(report.costs.cycles, 1)
    return [
        Lane(
            LANES.get(lane, lane),
            sum(event.end - event.start for event in events) / whole,
            tuple(_event_box(event, report) for event in events),
        )
        for lane, events in lanes.items()
        if events
    ]


def _event_box(event: Event, report: NetworkReport) -> Box:
    whole = max(report.costs.cycles, 1)
    layer = report.layers[event.operator] if event.operator is not None else None
    what = f"{layer.code} ({short(layer.output)}): {event.name}" if layer else event.name
    cycles = f"{event.end - event.start:,} {report.costs.time_unit}"
    moved = f", reads {_bytes(event.read)}, writes {_bytes(event.written)}" if event.read else ""
    return Box(
        x=_part(event.start, whole),
        y=0,
        width=_part(event.end - event.start, whole),
        height=100,
        style=style_of(event.lane),
        title=f"{what}\n{cycles} from {event.start:,} to {event.end:,}{moved}",
        label=f"{layer.operator} {layer.code}" if layer else event.name,
        layer=event.operator,
        shorter=str(layer.operator) if layer else "",
    )


def _bytes(moved: object) -> str:
    assert isinstance(moved, dict)
    return " + ".join(f"{size:,} B ({memory})" for memory, size in moved.items()) or "nothing"


def make_ticks(whole: int) -> list[Tick]:
    """Return round values from 0 to `whole`, and their places."""
    step = _round_step(whole / _TICKS)
    return [Tick(_part(at, whole), f"{at:,}") for at in range(0, whole + 1, step)]


def make_millisecond_ticks(seconds: float | None) -> list[Tick]:
    """Return round milliseconds from 0 to `seconds`, and their places; none if it is unknown."""
    if not seconds:
        return []
    microseconds = seconds * 1e6
    step = _round_step(microseconds / _TICKS)
    return [
        Tick(_part(at, microseconds), f"{at / 1000:,g}")
        for at in range(0, int(microseconds) + 1, step)
    ]


def _round_step(least: float) -> int:
    """Return 1, 2 or 5 times a power of ten, at least as large as `least`."""
    power = 10 ** max(0, math.floor(math.log10(max(least, 1))))
    times = next(times for times in (1, 2, 5, 10) if power * times >= least)
    return int(power * times)


def make_memory_charts(report: NetworkReport) -> list[MemoryChart]:
    """Return a chart for each memory."""
    return [_memory_chart(area, report) for area in report.memory.areas]


def _memory_chart(area: Area, report: NetworkReport) -> MemoryChart:
    slots, size = report.memory.slots, max(area.bytes, 1)
    whole = max(report.costs.cycles, 1)
    boxes = []
    for block in sorted(
        area.blocks, key=lambda block: -block.bytes * (block.last - block.first + 1)
    ):
        of = "constants for " if block.kind == "weights" else ""
        name = f"{of}{short(block.name)}"
        is_high = block.bytes / size > _LEAST_HEIGHT
        start, end = slots[block.first].start, max(slot.end for slot in _during(block, slots))
        boxes.append(
            Box(
                x=_part(start, whole),
                y=100 - _part(block.offset + block.bytes, size),
                width=_part(end - start, whole),
                height=_part(block.bytes, size),
                style=block.kind,
                title=f"{name}\n{block.kind}, {counted(block.bytes, 'byte')} at {block.offset:,}, "
                f"from {start:,} to {end:,} {report.costs.time_unit}",
                label=name if is_high else "",
                layer=block.operator,
                shorter=str(block.operator) if is_high and block.operator is not None else "",
            )
        )
    ticks = tuple(Tick(100 - tick.at, tick.text) for tick in make_ticks(area.bytes))
    return MemoryChart(area, tuple(boxes), ticks, 100 - _part(area.scratch_bytes, size))


def _during(block: MemoryBlock, slots: Sequence[Slot]) -> Sequence[Slot]:
    return slots[block.first : block.last + 1]


def make_roof_chart(roofline: Roofline, layers: Sequence[ReportLayer]) -> RoofChart | None:
    """Return the chart; None without a layer that has products."""
    if not roofline.points:
        return None
    peak = roofline.peak_macs
    ridges = [peak / rate for rate in roofline.bytes_per_cycle.values()]
    xs = [*(point.intensity for point in roofline.points), *ridges]
    ys = [*(point.macs_per_cycle for point in roofline.points), peak]
    across, up = _Log(min(xs), max(xs)), _Log(min(ys), max(ys) * 1.5)
    marks = [
        Mark(
            across.at(point.intensity),
            100 - up.at(point.macs_per_cycle),
            point.operator,
            "",
            "npu",
            f"{point.operator} {layers[point.operator].code} "
            f"({short(layers[point.operator].output)})\n{point.intensity:,.3g} MACs for each byte, "
            f"{point.macs_per_cycle:,.3g} MACs in a cycle; at most {point.roof:,.3g}, by "
            f"{point.limit}",
        )
        for point in roofline.points
    ]
    top = 100 - up.at(peak)
    lines = [ChartLine(0, top, 100, top, "roof", f"{peak:,} MACs in a cycle")]
    lines += [_told(line, marks) for line in _slopes(roofline, across, up)]
    return RoofChart(
        tuple(_labelled(marks)),
        tuple(lines),
        tuple(Tick(across.at(v), f"{v:,g}") for v in across.powers()),
        tuple(Tick(100 - up.at(v), f"{v:,g}") for v in up.powers()),
    )


def _labelled(marks: Sequence[Mark]) -> Iterator[Mark]:
    """Yield the marks; of those that cover each other, the rightmost has the label of all."""
    groups: list[list[Mark]] = []
    for mark in marks:
        near = next((group for group in groups if _is_near(group[0], mark)), None)
        if near is None:
            groups.append([mark])
        else:
            near.append(mark)
    for group in groups:
        last = max(group, key=lambda mark: mark.x)
        others = [other for other in marks if other not in group]
        for mark in group:
            label = ", ".join(str(point.layer) for point in group) if mark is last else ""
            yield replace(mark, label=label, is_above=any(_is_beside(last, o) for o in others))


def _is_near(mark: Mark, other: Mark) -> bool:
    return abs(mark.x - other.x) < _NEAR and abs(mark.y - other.y) < _NEAR


def _is_beside(mark: Mark, other: Mark) -> bool:
    return 0 <= other.x - mark.x < 2 * _NEAR and abs(mark.y - other.y) < 2 * _NEAR


def _told(line: ChartLine, marks: Sequence[Mark]) -> ChartLine:
    """Return a line with its text where that covers the fewest points."""

    def place(part: float) -> tuple[float, float]:
        return line.x1 + part * (line.x2 - line.x1), line.y1 + part * (line.y2 - line.y1)

    def hidden(part: float) -> int:
        x, y = place(part)
        return sum(
            0 <= mark.x - x < _TEXT_WIDTH and abs(mark.y - y) < _TEXT_HEIGHT for mark in marks
        )

    x, y = place(min(_TEXT_PLACES, key=hidden))
    return replace(line, text_x=round(x, 4), text_y=round(y, 4))


def _slopes(roofline: Roofline, across: "_Log", up: "_Log") -> Iterator[ChartLine]:
    """Yield a slope for each bandwidth; memories of the same one share it."""
    shared: dict[float, list[str]] = {}
    for memory, rate in roofline.bytes_per_cycle.items():
        shared.setdefault(rate, []).append(memory)
    for rate, memories in shared.items():
        left = max(across.low, up.low / rate)
        right = min(across.high, roofline.peak_macs / rate)
        if left < right:
            ends = across.at(left), 100 - up.at(left * rate), across.at(right)
            text = f"{', '.join(memories)}: {rate:g} B in a cycle"
            yield ChartLine(*ends, 100 - up.at(right * rate), "slope", text)


class _Log:
    """A logarithmic axis from a power of ten to another."""

    def __init__(self, least: float, most: float) -> None:
        self._first = math.floor(math.log10(max(least, 1e-6)))
        self._last = max(math.ceil(math.log10(max(most, 1e-6))), self._first + 1)
        self.low, self.high = 10.0**self._first, 10.0**self._last

    def at(self, value: float) -> float:
        """Return the place of a value in percent."""
        place = (math.log10(max(value, self.low)) - self._first) / (self._last - self._first)
        return round(100 * place, 4)

    def powers(self) -> list[float]:
        """Return the powers of ten on it."""
        return [10.0**i for i in range(self._first, self._last + 1)]


def _part(value: float, whole: float) -> float:
    return round(100 * value / max(whole, 1), 4)
