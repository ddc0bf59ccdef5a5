"""Calls and their operators: compiled files, accelerators of users, subgraphs, errata."""

from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.backend.ethosu.accelerator import ACCELERATORS
from ethosgen.backend.ethosu.offload.vela import FASTEST, MEMORY_MODE, compile_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.report.assembly import assemble
from ethosgen.values.plan import IoStyle
from ethosgen.values.profile import Profile, StepCost
from tests import ROOT
from tests.support.control_networks import accumulator, nested
from tests.support.networks import NetworkBuilder
from tests.support.reports import observe, report_of

ERRATA = ROOT / "tests" / "errata"
STATEFUL = ("CALL_ONCE", "READ_VARIABLE", "ASSIGN_VARIABLE")


def test_a_users_accelerator_costs_what_it_offers() -> None:
    observed = observe(npu="none", accelerators=("matrix-engine",))
    report = assemble(observed)
    theirs = [layer for layer in report.layers if layer.on == "matrix-engine"]
    assert theirs and all(layer.cpu for layer in theirs)
    share = observed.program.plan.shares[0]
    assert sum(layer.cpu or 0 for layer in theirs) == share.cycles
    assert {event.lane for event in report.timeline} == {"cpu", "matrix-engine"}
    assert {part.on for part in report.partitions} == {"matrix-engine"}


@pytest.mark.parametrize("name", ["reduce-dropped-axis", "transpose-into-part"])
def test_an_erratum_is_told_with_its_operator(name: str) -> None:
    report = report_of(ERRATA / f"{name}.tflite")
    (erratum,) = report.errata
    assert erratum.name == name and name in erratum.reason
    for index in erratum.operators:
        assert report.layers[index].on == "cpu"
        assert report.layers[index].erratum == name


def test_operations_without_an_operator_are_counted_apart() -> None:
    report = report_of(ERRATA / "transpose-into-part.tflite")
    assert report.costs.unassigned_cycles and report.costs.npu_cycles
    layers = sum(layer.cycles or 0 for layer in report.layers)
    assert layers + report.costs.unassigned_cycles == report.costs.npu_cycles


def test_strips_that_the_compiler_does_not_name_are_their_operators(tmp_path: Path) -> None:
    net = NetworkBuilder("nchw", 3)
    x = net.input((1, 3, 96, 96), "int8", 0.05, 3)
    y = net.conv2d(net.transpose(x, (0, 2, 3, 1)), 8, (3, 3), stride=(2, 2))
    path = tmp_path / "nchw.tflite"
    path.write_bytes(net.build(y))
    report = report_of(path)
    transpose = report.layers[0]
    assert transpose.code == "TRANSPOSE" and not report.costs.unassigned_cycles
    assert transpose.share is not None and transpose.share > 0.5
    assert sum(layer.cycles or 0 for layer in report.layers) == report.costs.npu_cycles


def test_an_output_that_is_the_input_takes_no_time() -> None:
    report = report_of(ERRATA / "reshape-int32.tflite")
    assert report.timeline == () and report.costs.cycles == 0
    assert len(report.memory.slots) == 1
    assert all(block.first == block.last == 0 for block in report.memory.areas[0].blocks)


def test_a_subgraph_is_one_slot_of_memory(tmp_path: Path) -> None:
    net = NetworkBuilder("nested")
    path = tmp_path / "nested.tflite"
    path.write_bytes(net.build(*nested(net)))
    observed = observe(path, npu="none")
    assert any(step.inside for step in observed.program.steps)
    report = assemble(observed)
    top = [step for step in observed.program.steps if not step.inside]
    assert [slot.name for slot in report.memory.slots] == [step.name for step in top]
    assert report.costs.cpu_unknown > 0  # nobody estimates a loop


def test_operators_of_a_shared_function_are_told_together() -> None:
    report = report_of(ROOT / "demo" / "kws_front_end.tflite")
    energy, cast = (x for x in report.layers if x.output in ("energy", "energy_int32"))
    assert (energy.code, energy.merged_into) == ("CUSTOM SignalEnergy", None)
    assert cast.merged_into == energy.operator
    shared = [x for x in report.layers if x.merged_into is not None]
    joint = [step.name for step in observe(ROOT / "demo" / "kws_front_end.tflite").program.steps]
    assert len(shared) == sum(name.count(" + ") for name in joint) > 1


def test_each_count_belongs_to_an_operator_or_a_start(tmp_path: Path) -> None:
    net = NetworkBuilder("sum")
    path = tmp_path / "sum.tflite"
    path.write_bytes(net.build(*accumulator(net)))
    observed = observe(path)
    steps = observed.program.steps
    profile = Profile(
        "instructions", tuple(StepCost(s, 2**i, 0) for i, s in enumerate(steps)), 1, 0.0
    )
    report = assemble(replace(observed, report=replace(observed.report, profile=profile)))
    counts: dict[str, list[int]] = {step.name: [] for step in steps}
    for i, step in enumerate(steps):
        if step.inside:  # a subgraph's counts are those of the operator that runs it
            counts[steps[step.inside - 1].name][-1] += 2**i
        else:
            counts[step.name].append(2**i)
    assert counts["CALL_ONCE"][0].bit_count() > 1
    told = {code: [x.cpu for x in report.layers if x.code == code] for code in counts}
    for code in STATEFUL:
        assert told[code] == counts[code] != []
    starts = [count for name, count in counts.items() if name not in STATEFUL for count in count]
    assert report.costs.cpu_unassigned == sum(starts) > 0
    assert report.costs.cpu == sum(2**i for i in range(len(steps)))
    handles = [x for x in report.layers if x.code == "VAR_HANDLE"]
    assert handles and {x.on for x in handles} == {""}


def test_what_runs_in_a_loop_belongs_to_the_loop(tmp_path: Path) -> None:
    net = NetworkBuilder("nested")
    path = tmp_path / "nested.tflite"
    path.write_bytes(net.build(*nested(net)))
    observed = observe(path, npu="none")
    steps = observed.program.steps
    profile = Profile("instructions", tuple(StepCost(s, 3, 0) for s in steps), 1, 0.0)
    report = assemble(replace(observed, report=replace(observed.report, profile=profile)))
    (loop,) = report.layers
    assert loop.cpu == 3 * len(steps) and len(steps) > 4
    assert (loop.share, report.costs.cpu_unassigned) == (1, 0)


def test_a_compiled_file_has_the_cycles_of_its_original(tmp_path: Path) -> None:
    compiled = compile_network(
        observe().network, ACCELERATORS["ethos-u55-128"], IoStyle.ARENA, (), None, MEMORY_MODE,
        FASTEST,
    )  # fmt: skip
    path = tmp_path / "digits_vela.tflite"
    path.write_bytes(file_of(compiled.network))
    report, original = report_of(path), report_of()
    assert report.costs.npu_cycles == original.costs.npu_cycles
    (layer,) = report.layers
    assert (layer.on, layer.cycles) == ("npu", original.costs.npu_cycles)
    assert [part.operators for part in report.partitions] == [(layer.operator,)]
