"""The report for Perfetto and for Model Explorer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ethosgen.report.content import NANOSECONDS, Event, NetworkReport
from ethosgen.report.exports import MARKS, node_data, perfetto_trace
from tests.support.needs import needs_models
from tests.support.reports import CUT, DIGITS, report_of
from tests.support.small_models import SHARED_MODELS

CLOCKS = (None, 32_000_000, 100_000_000, 333_000_000, 1_000_000_000)


def at_clock(report: NetworkReport, hz: int | None) -> NetworkReport:
    return replace(report, setting=replace(report.setting, clock_hz=hz))


def events_of(report: NetworkReport) -> list[dict[str, Any]]:
    events = json.loads(json.dumps(perfetto_trace(report)))["traceEvents"]
    assert isinstance(events, list)
    return events


def kept_by_perfetto(events: list[dict[str, Any]], ns_of: Any) -> Iterator[dict[str, Any]]:
    """Yield the slices that Perfetto keeps: one that overlaps another without nesting is lost."""
    ends: dict[int, list[int]] = {}
    slices = [e for e in events if e["ph"] == "X"]
    for event in sorted(slices, key=lambda e: (ns_of(e["ts"]), -ns_of(e["dur"]))):
        start = ns_of(event["ts"])
        end = start + ns_of(event["dur"])
        stack = ends.setdefault(event["tid"], [])
        while stack and stack[-1] <= start:
            stack.pop()
        if not stack or end <= stack[-1]:
            stack.append(end)
            yield event


def nearest(microseconds: float) -> int:
    return round(microseconds * 1000)


def cut_off(microseconds: float) -> int:
    return int(microseconds * 1000)


def test_the_trace_has_each_event_on_its_thread() -> None:
    report = report_of(cpu_ops=CUT)
    events = events_of(report)
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert list(threads.values()) == ["NPU", "DMA", "CPU", "layers"]
    order = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    assert sorted(threads, key=lambda thread: order[thread]) == list(threads)
    assert all(event["pid"] not in threads for event in events)  # Perfetto's "main thread"
    for lane in ("npu", "dma", "cpu"):
        drawn = [e for e in events if e.get("cat") == lane]
        told = [e for e in report.timeline if e.lane == lane]
        assert drawn
        assert [(e["name"], e["ts"], e["dur"]) for e in drawn] == [
            (e.name, e.start, e.end - e.start) for e in told
        ]
        assert {threads[e["tid"]] for e in drawn} == {lane.upper()}


@needs_models
@pytest.mark.parametrize("hz", CLOCKS)
@pytest.mark.parametrize("ns_of", [nearest, cut_off])
def test_perfetto_drops_no_event(hz: int | None, ns_of: Any) -> None:
    """Perfetto 52 lost 14 of 116 events of this network at 32 MHz, which overlapped by 1 ns."""
    report = at_clock(report_of(SHARED_MODELS / "vww_mobilenet_int8.tflite"), hz)
    events = events_of(report)
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) > 2 * len(report.layers)
    assert len(list(kept_by_perfetto(events, ns_of))) == len(slices)
    for drawn, told in zip(slices, report.timeline, strict=False):
        for moment, cycle in (
            (ns_of(drawn["ts"]), told.start),
            (ns_of(drawn["ts"]) + ns_of(drawn["dur"]), told.end),
        ):
            assert moment == pytest.approx(cycle * 1e9 / hz if hz else cycle * 1000, abs=0.5001)


def test_nanoseconds_of_linux_are_not_taken_for_cycles() -> None:
    report = at_clock(report_of(npu="none"), 1_500_000_000)
    timed = replace(report, costs=replace(report.costs, time_unit=NANOSECONDS))
    trace = perfetto_trace(timed)
    last = [e for e in trace["traceEvents"] if e.get("cat") == "cpu"][-1]
    assert last["ts"] + last["dur"] == pytest.approx(report.costs.cycles / 1000)
    assert trace["otherData"]["time"] == "microseconds as measured"


def test_a_layer_in_stripes_has_a_slice_for_each() -> None:
    report = report_of(DIGITS)
    stripes = [(0, 0, 10), (1, 10, 20), (0, 20, 30), (0, 30, 40), (1, 40, 50)]
    timeline = tuple(Event("npu", "CONV", layer, 1, *times) for layer, *times in stripes)
    slices = [e for e in events_of(replace(report, timeline=timeline)) if e.get("cat") == "layers"]
    assert [(e["args"]["operator"], e["ts"], e["dur"]) for e in slices] == [
        (0, 0, 10),
        (1, 10, 10),
        (0, 20, 20),
        (1, 40, 10),
    ]


def test_the_counter_never_exceeds_the_arena_and_ends_at_nothing() -> None:
    report = report_of(cpu_ops=CUT)
    counted = [e for e in perfetto_trace(report)["traceEvents"] if e["ph"] == "C"]
    used = [event["args"]["bytes"] for event in counted]
    assert 0 < max(used) <= report.costs.arena_bytes
    assert used[-1] == 0
    assert [e["ts"] for e in counted] == sorted(e["ts"] for e in counted)


def test_node_data_is_by_the_tensor_that_a_node_writes() -> None:
    report = report_of(cpu_ops=CUT)
    data = node_data(report)
    assert set(data) == {"name", "results"}  # no graph's name: of the graph that is open
    assert set(data["results"]) == {x.output for x in report.layers if x.share is not None}
    assert sum(entry["value"] for entry in data["results"].values()) == pytest.approx(100, abs=0.01)
    assert any(json.dumps(data).startswith("{" + mark) for mark in MARKS)


def test_a_nodes_hue_is_its_place_and_its_strength_its_share() -> None:
    report = report_of(cpu_ops=CUT)
    results = node_data(report)["results"]
    for on, strongest in (("npu", 2), ("cpu", 0)):  # blue, red
        known = [x for x in report.layers if x.on == on and x.share is not None]
        assert len(known) > 1
        lightness = []
        for layer in sorted(known, key=lambda layer: layer.share or 0):
            colour = bytes.fromhex(results[layer.output]["bgColor"][1:])
            assert colour[strongest] == max(colour) and len(set(colour)) > 1
            lightness.append(sum(colour))
        assert lightness == sorted(lightness, reverse=True)
