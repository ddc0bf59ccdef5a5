"""The report for other viewers: a trace for Perfetto, and node data for Model Explorer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ethosgen.report.charts import LANES
from ethosgen.values.network_report import Area, Event, Layer, NetworkReport
from ethosgen.values.timeline import DMA_UNIT

_PROCESS = 1
_MICROSECONDS = 1e6
_LAYERS = "layers"

_GENERATOR = "ethosgen report"
_COSTLY = "#e05a2b"
"""The colour of the costliest operator."""
MARKS = (f'"generator": "{_GENERATOR}', f'"bgColor": "{_COSTLY}"')
"""What tells near the start of a file that it is a trace or node data of ours."""

_GRADIENT: Sequence[Mapping[str, Any]] = (
    {"stop": 0, "bgColor": "#ffffff", "textColor": "#000000"},
    {"stop": 1, "bgColor": _COSTLY, "textColor": "#000000"},
)
"""From the cheapest operator to the costliest."""


def perfetto_trace(report: NetworkReport) -> dict[str, Any]:
    """Return the timeline in Chrome's trace event format, which Perfetto opens.

    A thread for each unit, one for the network's layers, and a counter of the bytes in use. Times
    are microseconds at the board's clock; without a clock a cycle is one microsecond.
    """
    clock = report.setting.clock_hz
    scale = _MICROSECONDS / clock if clock else 1.0
    lanes = list(dict.fromkeys([*LANES, *(event.lane for event in report.timeline), _LAYERS]))
    threads = {lane: number for number, lane in enumerate(lanes, 1)}
    events = [_name("process_name", 0, f"{report.subject.name} on {report.setting.npu}")]
    events += [_name("thread_name", threads[lane], LANES.get(lane, lane)) for lane in lanes]
    events += [_event(one, threads[one.lane], scale, report.layers) for one in report.timeline]
    events += list(_layers(report, threads[_LAYERS], scale))
    for area in report.memory.areas:
        events += list(_counter(area, report, scale))
    return {
        "otherData": {
            "generator": f"{_GENERATOR} {report.ethosgen}",
            "command": report.command,
            "clock_hz": clock,
            "time": "microseconds at clock_hz" if clock else "a microsecond is a cycle",
        },
        "displayTimeUnit": "ns",
        "traceEvents": events,
    }


def _name(what: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": _PROCESS, "tid": thread, "args": {"name": name}}


def _event(event: Event, thread: int, scale: float, layers: Sequence[Layer]) -> dict[str, Any]:
    layer = layers[event.operator] if event.operator is not None else None
    of = {"operator": layer.operator, "code": layer.code, "output": layer.output} if layer else {}
    return {
        "ph": "X",
        "name": event.name,
        "cat": event.lane,
        "pid": _PROCESS,
        "tid": thread,
        "ts": event.start * scale,
        "dur": (event.end - event.start) * scale,
        "args": {
            **of,
            "cycles": event.end - event.start,
            "macs": event.macs,
            "read": dict(event.read),
            "written": dict(event.written),
        },
    }


def _layers(report: NetworkReport, thread: int, scale: float) -> Iterator[dict[str, Any]]:
    """Yield the time in which each layer is computed, without copies ahead of it."""
    for layer in report.layers:
        own = [e for e in report.timeline if e.operator == layer.operator and e.lane != DMA_UNIT]
        if own:
            start, end = min(e.start for e in own), max(e.end for e in own)
            yield {
                "ph": "X",
                "name": f"{layer.code} {layer.output}",
                "cat": _LAYERS,
                "pid": _PROCESS,
                "tid": thread,
                "ts": start * scale,
                "dur": (end - start) * scale,
                "args": {"operator": layer.operator, "share": layer.share, "on": layer.on},
            }


def _counter(area: Area, report: NetworkReport, scale: float) -> Iterator[dict[str, Any]]:
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
        in_use = _covered([place for start, end, place in lives if start <= now < end])
        yield {
            "ph": "C",
            "name": f"{area.name} in use",
            "pid": _PROCESS,
            "ts": now * scale,
            "args": {"bytes": in_use},
        }


def _covered(places: Sequence[tuple[int, int]]) -> int:
    """Return the number of bytes in any of some ranges."""
    total = reached = 0
    for start, end in sorted(places):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def node_data(report: NetworkReport) -> dict[str, Any]:
    """Return each operator's share of the time as Model Explorer's data for nodes, in percent.

    Model Explorer finds a node by the name of a tensor that it writes. Data without a graph's name
    is for the graph that is open. An operator without a figure has no value.
    """
    return {
        "gradient": [dict(stop) for stop in _GRADIENT],
        "results": {
            layer.output: {"value": round(100 * layer.share, 4)}
            for layer in report.layers
            if layer.share is not None and layer.output
        },
    }
