"""The choice of operators that stay on the CPU because they are estimated faster there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import aot
from ethosgen.aot import make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.family import ETHOS_U
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.offload.division import INVOKE, npu_cycles
from ethosgen.backend.ethosu.offload.keeping import mark, unmark
from ethosgen.backend.ethosu.offload.vela import Compiled, compile_network
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.protocol import DivisionTask, Offer
from ethosgen.flow.choice import Costs, Reach, choose, faster_plan
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.allocation import Allocation, Kept, OperatorIndex
from ethosgen.values.errors import RefusalError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle, OffloadMode, OffloadOptions, Plan
from ethosgen.values.watch import Watch
from tests.support.catalogue.recurrent import lstm
from tests.support.needs import needs_models
from tests.support.networks import NetworkBuilder
from tests.support.small_models import SHARED_MODELS, image_net

ACCELERATOR = find_accelerator("ethos-u55-128")


def small() -> Network:
    net = NetworkBuilder("small", seed=1)
    x = net.fully_connected(net.input((1, 8)), 8, activation="RELU")
    return parse_network(net.build(net.fully_connected(x, 4)), "small")


def large(path: Path) -> Network:
    return parse_network(image_net(path).read_bytes(), "large")


def choice_of(network: Network, io: IoStyle = IoStyle.ARENA) -> Plan:
    return faster_plan(ETHOS_U, DivisionTask(network, ACCELERATOR, io, aot), {})


def costs_of(npu: Sequence[int], cpu: Sequence[int | None], *parts: Sequence[int]) -> Costs:
    offers = {
        i: Offer(npu[i], group=group, start=INVOKE)
        for group, part in enumerate(parts)
        for i in part
    }
    return Costs(offers, cpu)


def check(plan: Plan) -> None:
    samples = random_samples(plan.network, 2, 1)
    runner = PartitionRunner(plan) if plan.partitions else _never
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden_outputs(plan.network, samples), strict=True):
        for name, array in evaluate(sample, runner).items():
            np.testing.assert_array_equal(array, wanted[name])


@pytest.mark.parametrize("io", IoStyle)
def test_a_tiny_network_stays_on_the_cpu(io: IoStyle) -> None:
    assert len(offload(small(), ACCELERATOR, io).partitions) == 1
    plan = choice_of(small(), io)
    assert not plan.partitions and len(plan.cpu_operators) == 2
    assert "of which 300 are for starting it" in plan.cpu_operators[0].reason
    (choice,) = plan.summary().choices
    assert choice.on == "cpu" and choice.cpu_cycles is not None
    assert choice.cpu_cycles < choice.npu_cycles
    check(plan)


def test_a_choice_that_vela_refuses_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_whole(network: Network, *arguments: Any) -> Compiled:
        if any(op.code == "CUSTOM" for op in network.graph.operators):
            raise RefusalError("Vela cannot compile it", "not so")
        return compile_network(network, *arguments)

    monkeypatch.setattr("ethosgen.backend.ethosu.offload.vela.compile_network", compile_whole)
    plan = choice_of(small())
    assert len(plan.partitions) == 1 and [choice.on for choice in plan.choices] == ["npu"]


def test_work_goes_to_the_npu() -> None:
    net = NetworkBuilder("large", seed=1)
    y = net.conv2d(net.conv2d(net.input((1, 16, 16, 16)), 16), 16)
    plan = choice_of(parse_network(net.build(y), "large"))
    assert len(plan.partitions) == 1 and not plan.cpu_operators
    assert [choice.on for choice in plan.choices] == ["npu"]


def test_none_leaves_everything(tmp_path: Path) -> None:
    network = large(tmp_path / "n.tflite")
    options = OffloadOptions(mode=OffloadMode.NONE)
    plan = make_plan(network, PlanSettings(ACCELERATOR, options), Watch())
    assert plan.accelerator is None and not plan.choices
    assert {cpu.reason for cpu in plan.cpu_operators} == {"you asked for --offload none"}


def test_what_the_cpu_has_no_code_for_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aot, "cpu_cycles", lambda _operator, _graph: None)
    plan = choice_of(small())
    assert len(plan.partitions) == 1
    assert [choice.cpu_cycles for choice in plan.choices] == [None]


def test_ends_are_taken_as_long_as_they_are_cheaper(tmp_path: Path) -> None:
    graph = large(tmp_path / "n.tflite").graph  # six operators in a row
    cycles = [100] * 6, [50, 900, 10, 900, 20, 30]
    costs = costs_of(*cycles, range(6))
    assert sorted(choose(graph, costs, Reach.ENDS)) == [0, 4, 5]
    assert choose(graph, costs, Reach.PARTS) == {}
    assert sorted(choose(graph, costs_of(*cycles, [1], [5]), Reach.ENDS)) == [5]


def test_the_middle_is_taken_where_that_pays_for_another_start(tmp_path: Path) -> None:
    graph = large(tmp_path / "n.tflite").graph
    npu = [100, 100, INVOKE + 150, INVOKE + 90, 100, 100]
    costs = costs_of(npu, [900, 900, 100, 100, 900, 900], range(6))
    assert choose(graph, costs, Reach.ENDS) == {}
    assert list(choose(graph, costs, Reach.ANY)) == [2]


def test_an_end_without_a_figure_stays(tmp_path: Path) -> None:
    graph = large(tmp_path / "n.tflite").graph
    costs = costs_of([INVOKE] * 6, [None, 1, 1, 1, 1, None], range(6))
    assert choose(graph, costs, Reach.ENDS) == {}


def test_npu_figures_add_up_to_the_whole() -> None:
    rows = [{"source_id": "1", "op_cycles": "300"}, {"source_id": "2", "op_cycles": "100"}]
    rows += [{"source_id": "1", "op_cycles": "0"}, {"source_id": "9", "op_cycles": "7"}]
    assert npu_cycles({"perf": rows}, 2, 200) == [150, 50]
    assert npu_cycles({}, 2, 200) == [0, 0]


@pytest.mark.parametrize("kept", [[0], [2, 4], [0, 1, 2, 3, 4, 5]])
def test_marked_operators_come_back_as_they_were(tmp_path: Path, kept: list[int]) -> None:
    network = large(tmp_path / "n.tflite")
    marked = mark(network, kept)
    for index, (ours, theirs) in enumerate(
        zip(network.graph.operators, marked.graph.operators, strict=True)
    ):
        assert theirs.inputs == ours.inputs and theirs.outputs == ours.outputs
        assert theirs.code == ("CUSTOM" if index in kept else ours.code)
    assert unmark(marked, network).graph == network.graph
    assert marked.graph.tensors == network.graph.tensors


def test_tensors_of_the_cpus_part_alone_have_no_place_in_velas(tmp_path: Path) -> None:
    network = large(tmp_path / "n.tflite")
    graph, kept = network.graph, [0, 1, 2]
    marked = mark(network, kept, is_apart=True)
    inner = {*graph.operators[0].outputs, *graph.operators[1].outputs}
    assert {t.index for t in marked.graph.tensors if t != graph.tensors[t.index]} == inner
    assert {marked.graph.tensors[i].shape for i in inner} == {(1,)}
    assert unmark(marked, network, is_apart=True).graph == graph


def test_an_lstm_on_the_cpu_keeps_its_absent_inputs() -> None:
    net = NetworkBuilder("recurrent", seed=1)
    network = parse_network(net.build(lstm(net, net.input((1, 2, 4), scale=0.02), 5)), "recurrent")
    plan = offload(network, ACCELERATOR, ignore=("UNIDIRECTIONAL_SEQUENCE_LSTM",))
    assert len(plan.residual.operators[0].inputs) == 24
    check(plan)


@needs_models
def test_a_public_network_too_small_for_the_npu() -> None:
    network = parse_network((SHARED_MODELS / "hello_world_int8.tflite").read_bytes(), "hello_world")
    plan = choice_of(network)
    assert not plan.partitions
    check(plan)


def _never(*_: object) -> Arrays:
    raise AssertionError("a partition in a plan without one")


def test_offers_say_what_runs_where_and_why_not() -> None:
    net = NetworkBuilder("offers", seed=1)
    y = net.conv2d(net.relu(net.conv2d(net.input((1, 8, 8, 4)), 4)), 4)
    network = parse_network(net.build(y), "offers")
    task = DivisionTask(network, ACCELERATOR, IoStyle.ARENA, aot)
    offers = ETHOS_U.offers(task, Allocation({OperatorIndex(1): Kept("you want it so")}))
    assert [offers[i].group for i in range(3)] == [0, None, 1]
    assert [offers[i].refusal for i in range(3)] == ["", "you want it so", ""]
    cycles = [offers[i].cycles or 0 for i in (0, 2)]
    assert all(cycles) and offers[0].start == INVOKE
    whole = ETHOS_U.compile(task, Allocation({OperatorIndex(1): Kept("you want it so")})).npu_cycles
    assert whole is not None and abs(sum(cycles) - whole) <= 1
    assert {offer.group for offer in ETHOS_U.offers(task, {}).values()} == {0}
