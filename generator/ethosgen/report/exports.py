"""The report for other viewers: a trace for Perfetto, and node data for Model Explorer."""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any

from ethosgen.backend.timeline import DMA_UNIT
from ethosgen.report.charts import LANES, short, style_of
from ethosgen.report.content import CYCLES, NANOSECONDS, Area, Event, NetworkReport, ReportLayer
from ethosgen.report.memory import covered
from ethosgen.values.accelerator import NO_NPU

_PROCESS = 1
_FIRST_THREAD = 2
"""Perfetto calls the thread with the process's number its main thread."""
_NS_IN_S = 1_000_000_000
_NS_IN_US = 1000
_LAYERS = "layers"

_GENERATOR = "ethosgen report"
_NODE_DATA = f"share of time, % ({_GENERATOR})"
MARKS = (f'"generator": "{_GENERATOR}', f'"name": "{_NODE_DATA}"')
"""What tells near the start of a file that it is a trace or node data of ours."""

_FULL: Mapping[str, tuple[int, int, int]] = {
    "npu": (110, 160, 255),
    "cpu": (240, 138, 75),
    "other": (185, 138, 230),
}
"""The colour of the costliest operator by the style of its place, under black text."""
_LEAST_TINT = 0.15
"""Of the full colour, for an operator that costs nothing."""


class _Clock:
    """Turns the report's times into the microseconds of a trace.

    Perfetto keeps whole nanoseconds, and drops an event that overlaps another by one of them. So
    both ends of an event are rounded, never its length.
    """

    def __init__(self, report: NetworkReport) -> None:
        hz = report.setting.clock_hz
        self.text = "a microsecond is one of its " + report.costs.time_unit
        self._ns = Fraction(_NS_IN_US)
        if report.costs.time_unit == NANOSECONDS:
            self._ns, self.text = Fraction(1), "microseconds as measured"
        elif report.costs.time_unit == CYCLES and hz:
            self._ns, self.text = Fraction(_NS_IN_S, hz), "microseconds at clock_hz"

    def span(self, start: int, end: int) -> dict[str, float]:
        """Return the trace's fields of an event."""
        first, last = self._nanoseconds(start), self._nanoseconds(end)
        return {"ts": _microseconds(first), "dur": _microseconds(last - first)}

    def at(self, time: int) -> float:
        """Return a moment."""
        return _microseconds(self._nanoseconds(time))

    def _nanoseconds(self, time: int) -> int:
        return round(time * self._ns)


def _microseconds(nanoseconds: int) -> float:
    """Return a number that gives the same nanoseconds to readers that round or truncate."""
    number = nanoseconds / _NS_IN_US
    return number if number * _NS_IN_US >= nanoseconds else math.nextafter(number, math.inf)


def perfetto_trace(report: NetworkReport) -> dict[str, Any]:
    """Return the timeline in Chrome's trace event format, which Perfetto opens.

    A thread for each unit, one for the network's layers, and a counter of the bytes in use. Times
    are microseconds at the board's clock; without a clock a cycle is one microsecond.
    """
    clock = _Clock(report)
    lanes = list(dict.fromkeys([*LANES, *(event.lane for event in report.timeline), _LAYERS]))
    threads = {lane: number for number, lane in enumerate(lanes, _FIRST_THREAD)}
    npu = report.setting.npu
    on = report.setting.processor if npu == NO_NPU else npu
    events = [_about("process_name", _PROCESS, name=f"{report.subject.name} on {on}")]
    for lane, thread in threads.items():
        events.append(_about("thread_name", thread, name=LANES.get(lane, lane)))
        events.append(_about("thread_sort_index", thread, sort_index=thread))
    events += [
        _event(event, threads[event.lane], clock, report.layers) for event in report.timeline
    ]
    events += list(_layers(report, threads[_LAYERS], clock))
    for area in report.memory.areas:
        events += list(_counter(area, report, clock))
    return {
        "otherData": {
            "generator": f"{_GENERATOR} {report.ethosgen}",
            "command": report.command,
            "clock_hz": report.setting.clock_hz,
            "time": clock.text,
        },
        "displayTimeUnit": "ns",
        "traceEvents": events,
    }


def _about(what: str, thread: int, **args: str | int) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": thread, "args": args}


def _event(
    event: Event, thread: int, clock: _Clock, layers: Sequence[ReportLayer]
) -> dict[str, Any]:
    layer = layers[event.operator] if event.operator is not None else None
    of = {"operator": layer.operator, "code": layer.code, "output": layer.output} if layer else {}
    return {
        "ph": "X",
        "name": event.name,
        "cat": event.lane,
        "pid": _PROCESS,
        "tid": thread,
        **clock.span(event.start, event.end),
        "args": {
            **of,
            "cycles": event.end - event.start,
            "macs": event.macs,
            "read": dict(event.read),
            "written": dict(event.written),
        },
    }


def _layers(report: NetworkReport, thread: int, clock: _Clock) -> Iterator[dict[str, Any]]:
    """Yield the times in which each layer is computed, without copies ahead of it.

    A layer in stripes, with others in between, has one for each.
    """
    own = [e for e in report.timeline if e.lane != DMA_UNIT]
    for operator, events in groupby(sorted(own, key=_times), key=lambda event: event.operator):
        if operator is None:
            continue
        layer, stripe = report.layers[operator], list(events)
        yield {
            "ph": "X",
            "name": f"{operator} {layer.code} ({short(layer.output)})",
            "cat": _LAYERS,
            "pid": _PROCESS,
            "tid": thread,
            **clock.span(stripe[0].start, max(event.end for event in stripe)),
            "args": {
                "operator": operator,
                "output": layer.output,
                "on": layer.on,
                "share": layer.share,
                "cycles": layer.cycles,
                "cpu": layer.cpu,
                "macs": layer.macs,
            },
        }


def _times(event: Event) -> tuple[int, int]:
    return event.start, event.end


def _counter(area: Area, report: NetworkReport, clock: _Clock) -> Iterator[dict[str, Any]]:
    """Yield the bytes in use whenever they change."""
    slots = report.memory.slots
    lives = [
        (
            slots[block.first].start,
            max(slot.end for slot in slots[block.first : block.last + 1]),
            (block.offset, block.offset + block.bytes),
        )
        for block in area.blocks
    ]
    for now in sorted({time for start, end, _ in lives for time in (start, end)}):
        in_use = covered(place for start, end, place in lives if start <= now < end)
        yield {
            "ph": "C",
            "name": f"{area.name} in use",
            "pid": _PROCESS,
            "ts": clock.at(now),
            "args": {"bytes": in_use},
        }


def node_data(report: NetworkReport) -> dict[str, Any]:
    """Return each operator's share of the time as Model Explorer's data for nodes, in percent.

    A node's hue shows its place, the colour's strength its share of the time. Model Explorer finds
    a node by the name of a tensor that it writes. Data without a graph's name is for the graph that
    is open. An operator without a figure has no value.
    """
    known = [layer for layer in report.layers if layer.share is not None and layer.output]
    most = max((layer.share or 0 for layer in known), default=0) or 1
    return {
        "name": _NODE_DATA,
        "results": {
            layer.output: {
                "value": round(100 * (layer.share or 0), 4),
                "bgColor": _colour(style_of(layer.on), (layer.share or 0) / most),
                "textColor": "#000000",
            }
            for layer in known
        },
    }


def _colour(style: str, part: float) -> str:
    """Return a colour between white and the full one of a place."""
    tint = _LEAST_TINT + (1 - _LEAST_TINT) * part
    mixed = (round(255 - tint * (255 - channel)) for channel in _FULL.get(style, _FULL["other"]))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
