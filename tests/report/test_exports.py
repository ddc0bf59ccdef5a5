"""The report for Perfetto and for Model Explorer."""

import json

import pytest

from ethosgen.report.exports import node_data, perfetto_trace
from tests.support.reports import CUT, report_of


def test_the_trace_has_each_event_on_its_thread() -> None:
    report = report_of(cpu_ops=CUT)
    trace = json.loads(json.dumps(perfetto_trace(report)))
    events = trace["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(threads.values()) == {"NPU", "DMA", "CPU", "layers"}
    for lane in ("npu", "dma", "cpu"):
        drawn = [e for e in events if e.get("cat") == lane]
        told = [e for e in report.timeline if e.lane == lane]
        assert [(e["name"], e["ts"], e["dur"]) for e in drawn] == [
            (e.name, e.start, e.end - e.start) for e in told
        ]
        assert {threads[e["tid"]] for e in drawn} == {lane.upper()}


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
    assert set(data) == {"results", "gradient"}  # of the graph that is open
    assert set(data["results"]) == {x.output for x in report.layers if x.share is not None}
    assert sum(one["value"] for one in data["results"].values()) == pytest.approx(100, abs=0.01)
    assert [stop["stop"] for stop in data["gradient"]] == [0, 1]
