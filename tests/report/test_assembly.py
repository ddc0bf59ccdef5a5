"""The report's figures agree with each other, and with what they come from."""

import json
import re
from dataclasses import replace

import pytest

from ethosgen.report.assembly import assemble
from ethosgen.report.page import render_page
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.profile import Profile, StepCost
from ethosgen.values.time import CpuTime
from tests.support.needs import needs_models
from tests.support.reports import CUT, DIGITS, observe, pmu_cycles, report_of
from tests.support.small_models import SHARED_MODELS

CASES = [("ethos-u55-128", ()), ("ethos-u55-128", CUT), ("ethos-u85-256", CUT), (NO_NPU, ())]


@pytest.mark.parametrize(("npu", "cpu_ops"), CASES)
def test_shares_add_up_to_one_inference(npu: str, cpu_ops: tuple[str, ...]) -> None:
    report = report_of(npu=npu, cpu_ops=cpu_ops)
    assert sum(layer.share or 0 for layer in report.layers) == pytest.approx(1, abs=1e-4)
    cycles = sum(layer.cycles or 0 for layer in report.layers)
    assert cycles == (report.costs.npu_cycles or 0) and not report.costs.unassigned_cycles
    assert cycles == (0 if npu == NO_NPU else pmu_cycles(DIGITS, npu, cpu_ops))
    assert report.costs.cycles == cycles + report.costs.cpu
    assert report.costs.cycles == max(event.end for event in report.timeline)


@pytest.mark.parametrize(("npu", "cpu_ops"), CASES)
def test_the_json_alone_adds_up(npu: str, cpu_ops: tuple[str, ...]) -> None:
    told = json.loads(json.dumps(report_of(npu=npu, cpu_ops=cpu_ops).as_json()))
    costs, layers, events = told["costs"], told["layers"], told["timeline"]
    assert events and layers
    assert costs["cycles"] == max(event["end"] for event in events)
    on_cpu = [event["end"] - event["start"] for event in events if event["lane"] == "cpu"]
    assert sum(on_cpu) == costs["cpu"]
    assert costs["cpu"] == sum(x["cpu"] or 0 for x in layers) + costs["cpu_unassigned"]
    assert told["subject"]["macs"] == sum(x["macs"] for x in layers) > 0
    busy = {cycle for e in events if e["lane"] in ("npu", "dma") for cycle in range(*_span(e))}
    assert len(busy) == (costs["npu_cycles"] or 0)
    assert sum(p["cycles"] for p in told["partitions"]) == (costs["npu_cycles"] or 0)
    assert sum(p["command_bytes"] for p in told["partitions"]) == costs["command_bytes"]
    assert sum(x["encoded_bytes"] or 0 for x in layers) <= costs["weights_bytes"]
    on_npu = sum(x["macs"] for x in layers if x["on"] == "npu")
    assert sum(event["macs"] for event in events) == on_npu
    assert (on_npu > 0) == (npu != NO_NPU)
    for point in (told["roofline"] or {"points": []})["points"]:
        assert point["macs_per_cycle"] == pytest.approx(point["macs"] / point["cycles"], abs=1e-3)
        assert point["intensity"] == pytest.approx(point["macs"] / point["bytes"], abs=1e-3)


def _span(event: dict[str, int]) -> tuple[int, int]:
    return event["start"], event["end"]


def test_clocks_make_one_axis_of_time() -> None:
    observed = observe(cpu_ops=CUT)
    setting = replace(observed.setting, clock_hz=400_000_000, cpu_clock_hz=160_000_000)
    report, plain = assemble(replace(observed, setting=setting)), report_of(cpu_ops=CUT)
    seconds = (plain.costs.npu_cycles or 0) / 400e6 + plain.costs.cpu / 160e6
    assert report.costs.seconds == pytest.approx(seconds, rel=1e-4)
    assert plain.costs.seconds is None
    assert sum(layer.share or 0 for layer in report.layers) == pytest.approx(1, abs=1e-4)


def test_what_counts_nanoseconds_needs_no_clock() -> None:
    observed = observe(npu=NO_NPU)
    steps = observed.program.steps
    profile = Profile("nanoseconds", tuple(StepCost(step, 500, 0) for step in steps), 7, 0.0)
    report = assemble(replace(observed, report=replace(observed.report, profile=profile)))
    assert (report.costs.time_unit, report.costs.cpu_kind) == ("nanoseconds", "measured")
    assert report.costs.seconds == pytest.approx(500e-9 * len(steps))


def test_layers_have_the_networks_own_names_in_order() -> None:
    report, graph = report_of(cpu_ops=CUT), observe(cpu_ops=CUT).network.graph
    assert [layer.code for layer in report.layers] == [op.code for op in graph.operators]
    assert [layer.output for layer in report.layers] == [
        graph.tensors[op.outputs[0]].name for op in graph.operators
    ]
    assert {layer.on for layer in report.layers} == {"npu", "cpu"}
    assert {layer.code for layer in report.layers if layer.on == "cpu"} == set(CUT)
    assert all(layer.reason for layer in report.layers)


def test_connections_are_the_networks() -> None:
    layers = report_of().layers
    assert [layer.inputs for layer in layers[:6]] == [(), (0,), (1,), (2,), (3,), (3, 4)]


def test_partitions_hold_the_operators_that_run_there() -> None:
    report = report_of(cpu_ops=CUT)
    assert [part.name for part in report.partitions] == ["partition_0", "partition_1"]
    for part in report.partitions:
        assert part.operators == tuple(
            x.operator for x in report.layers if x.partition == part.name
        )
        assert part.cycles == sum(report.layers[i].cycles or 0 for i in part.operators)
        assert part.command_bytes > 0
        assert part.events == sum(
            event.lane in ("npu", "dma") and event.operator in part.operators
            for event in report.timeline
        )


def test_without_an_npu_all_is_on_the_cpu() -> None:
    report = report_of(npu=NO_NPU)
    assert report.roofline is None and report.costs.npu_cycles is None
    assert not report.partitions
    assert {layer.on for layer in report.layers if layer.code != "RESHAPE"} == {"cpu"}
    (reshape,) = [layer for layer in report.layers if layer.code == "RESHAPE"]
    assert reshape.on == "" and "needs no code" in reshape.reason
    assert {event.lane for event in report.timeline} == {"cpu"}


def test_the_json_is_plain_and_complete() -> None:
    report = report_of(cpu_ops=CUT)
    told = report.as_json()
    assert json.loads(json.dumps(told)) == json.loads(json.dumps(report.as_json()))
    assert told["verdict"]["verdict"] == "PASS"
    assert told["verdict"]["second"] == "LiteRT 2: 3 of 20 outputs differ"
    assert told["subject"]["constant_bytes"] == sum(x.constant_bytes for x in report.layers)


def test_the_same_network_gives_the_same_report() -> None:
    assert report_of(cpu_ops=CUT) == report_of(cpu_ops=CUT)


@needs_models
@pytest.mark.parametrize("name", ["kws_dscnn_int8", "ad_autoencoder_int8", "hello_world_int8"])
def test_published_networks(name: str) -> None:
    path = SHARED_MODELS / f"{name}.tflite"
    report = report_of(path)
    assert report.costs.npu_cycles == pmu_cycles(path, "ethos-u55-128")
    assert sum(layer.share or 0 for layer in report.layers) == pytest.approx(1, abs=1e-4)


def test_the_share_of_the_cpu_is_that_of_the_run() -> None:
    time = CpuTime(810_910, 32_000_000, "LLVM's model of the Cortex-M55")
    seen = observe(npu=NO_NPU)
    report = assemble(replace(seen, report=replace(seen.report, cpu_time=time)))
    assert report.as_json()["costs"]["cpu_time"] == time.as_json()
    page = re.sub("<[^>]*>", "", render_page(report)).replace("&nbsp;", " ")
    assert "CPU810,000cycles, 25 ms at 32 MHz; LLVM&#39;s model of the Cortex-M55" in page


def test_cycles_of_the_model_replace_instructions() -> None:
    seen = observe(npu=NO_NPU)
    steps = tuple(StepCost(step, 500, 0, cycles=600) for step in seen.program.steps)
    profile = Profile("instructions", steps, 7, 0.0, outside_cycles=9)
    report = assemble(replace(seen, report=replace(seen.report, profile=profile)))
    costs = report.costs
    assert (costs.cpu_unit, costs.cpu, costs.cycles) == ("cycles", 600 * len(steps), costs.cpu)
