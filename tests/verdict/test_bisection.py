"""The search for the operator that differs: on networks that Vela compiles wrongly, and on plans
that are wrong on purpose."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.cli import cli
from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.excerpt import first_operators
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import draw_samples
from ethosgen.values.errors import NpuFault, UnsupportedError
from ethosgen.values.network import Network
from ethosgen.values.outcome import Difference, OutputComparison
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict import trial
from ethosgen.verdict.bisection import diagnose, find_culprit
from ethosgen.verdict.trial import Make
from tests.support.needs import needs_qemu
from tests.support.network_file import Spec
from tests.support.networks import NetworkBuilder

NPU = find_accelerator("ethos-u55-128")


def parse(net: NetworkBuilder, *outputs: int) -> Network:
    return decode_network(net.build(*outputs), "net")


def chain(count: int) -> Network:
    """Return convolutions in a row, of which each can be made wrong alone."""
    net = NetworkBuilder("chain")
    x = net.input((1, 6, 6, 4), name="x")
    for _ in range(count):
        x = net.conv2d(x, 4)
    return parse(net, x)


def mirrored() -> NetworkBuilder:
    """Return a network in which Vela 5.2 forgets a padding: MIRROR_PAD along the channels."""
    net = NetworkBuilder("mirrored")
    x = net.conv2d(net.input((1, 6, 6, 4), name="x"), 4)
    x = net.conv2d(x, 4)
    amounts = net.constant(np.array([[0, 0], [0, 0], [0, 0], [1, 1]]), "int32")
    like = net.tensors[x]
    spec = Spec((1, 6, 6, 6), "int8", like.scale, like.zero_point)
    (x,) = net.operator("MIRROR_PAD", [x, amounts], [spec], {"mode": "REFLECT"})
    net.conv2d(x, 3, name="y")
    return net


def on_npu(network: Network) -> Plan:
    return offload(network, NPU)


def wrong_from(count: int, place: int) -> Make:
    """Return a planner that changes the bias of one layer of a chain, like a wrong compiler."""

    def make(network: Network) -> Plan:
        tensors = list(network.graph.tensors)
        if place < len(network.graph.operators):
            bias = network.graph.tensors[network.graph.operators[place].inputs[2]]
            changed = (bias.array() + 3000).astype(np.int32)
            tensors[bias.index] = replace(bias, data=changed.tobytes())
        wrong = network.edited(replace(network.graph, tensors=tuple(tensors)))
        return replace(on_npu(wrong), network=network)

    return make


@pytest.mark.slow
def test_a_prefix_computes_what_the_whole_computes_there() -> None:
    network = chain(4)
    whole = parse_all(network)
    samples = draw_samples(network, 2, 0)
    for count in range(1, 5):
        part = first_operators(network, count)
        assert part is not None and len(part.graph.operators) == count
        (output,) = part.outputs
        for ours, theirs in zip(
            golden_outputs(part, samples), golden_outputs(whole[count - 1], samples), strict=True
        ):
            assert np.array_equal(ours[output.name], next(iter(theirs.values())))


def parse_all(network: Network) -> list[Network]:
    return [chain(count + 1) for count in range(len(network.graph.operators))]


def test_a_prefix_keeps_every_tensor_that_the_rest_reads() -> None:
    net = NetworkBuilder("branches")
    x = net.input((1, 4, 4, 2), name="x")
    a, b = net.conv2d(x, 2), net.relu(x)
    network = parse(net, net.add(net.relu(a), b))
    parts = [first_operators(network, count) for count in (1, 2, 3, 4)]
    assert [len(part.outputs) for part in parts if part] == [1, 2, 2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 3, 6])
def test_the_layer_that_is_wrong_is_found(place: int) -> None:
    network = chain(7)
    culprit = find_culprit(network, draw_samples(network, 3, 0), wrong_from(7, place))
    assert culprit is not None
    assert (culprit.operator, culprit.code, culprit.on, culprit.unclear) == (
        place,
        "CONV_2D",
        "npu",
        0,
    )
    assert culprit.difference is not None and culprit.difference.got != culprit.difference.expected


def test_equal_networks_have_no_culprit() -> None:
    network = chain(3)
    assert find_culprit(network, draw_samples(network, 2, 0), on_npu) is None


def test_only_the_firmware_can_differ_where_the_simulator_is_right() -> None:
    network = chain(2)
    first = Difference(1, "y", (0, 0), 3, 4)
    golden = OutputComparison("tflm", 1, 10, 1.0, first=first)
    diagnosis = diagnose(network, draw_samples(network, 2, 0), golden, on_npu, Watch())
    assert diagnosis is not None and diagnosis.culprit is None and diagnosis.is_firmware
    assert "only the firmware differs" in diagnosis.text()
    equal = OutputComparison("tflm", 0, 10, 0.0)
    assert diagnose(network, draw_samples(network, 2, 0), equal, on_npu, Watch()) is None


def test_the_sample_is_counted_from_the_first_of_all() -> None:
    network = chain(3)
    golden = OutputComparison("tflm", 1, 10, 1.0, first=Difference(2, "y", (0,), 3, 4))
    diagnosis = diagnose(network, draw_samples(network, 4, 0), golden, wrong_from(3, 1), Watch())
    assert diagnosis is not None and diagnosis.culprit is not None
    assert diagnosis.culprit.difference is not None and diagnosis.culprit.difference.sample == 2


def test_a_fault_of_the_npu_model_names_its_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    network, simulate = chain(4), trial.simulate_samples

    def faulting(plan: Plan, *arguments: object) -> object:
        if len(plan.network.graph.operators) > 2:
            raise NpuFault("bus", "beyond its memory")
        return simulate(plan, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(trial, "simulate_samples", faulting)
    culprit = find_culprit(network, draw_samples(network, 1, 0), on_npu)
    assert culprit is not None and (culprit.operator, culprit.unclear) == (2, 0)
    assert "beyond its memory" in culprit.text()


def test_what_cannot_be_looked_at_widens_the_answer() -> None:
    network, right = chain(6), wrong_from(6, 3)

    def make(part: Network) -> Plan:
        if len(part.graph.operators) == 3:
            raise UnsupportedError("not this one")
        return right(part)

    culprit = find_culprit(network, draw_samples(network, 1, 0), make)
    assert culprit is not None and (culprit.operator, culprit.unclear) == (3, 1)
    assert "or one of the 1 before it" in culprit.text()


@pytest.mark.slow
def test_simulate_names_the_layer_that_vela_compiles_wrongly(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(mirrored().build())
    done = CliRunner().invoke(cli, ["simulate", str(path), "--json", "--trust-vela"])
    assert done.exit_code == 1, done.output
    answer = json.loads(done.stdout)
    first, diagnosis = answer["first_difference"], answer["diagnosis"]["operator"]
    assert answer["verdict"] == "FAIL" and len(first["index"]) == 4
    assert first["expected"] != first["got"]
    assert (diagnosis["operator"], diagnosis["code"], diagnosis["on"]) == (2, "MIRROR_PAD", "npu")
    assert not answer["diagnosis"]["only_firmware"]


@needs_qemu
def test_verify_names_it_in_words_and_in_junit(tmp_path: Path) -> None:
    path, junit = tmp_path / "m.tflite", tmp_path / "junit.xml"
    path.write_bytes(mirrored().build())
    options = ["--board", "corstone300", "--samples", "2", "--trust-vela", "--junit", str(junit)]
    done = CliRunner().invoke(cli, ["verify", str(path), *options])
    assert done.exit_code == 1
    assert "first     sample 0, 'y' [0, " in done.output and ": expected " in done.output
    assert "layer     operator 2, MIRROR_PAD (" in done.output and "on the NPU" in done.output
    assert "--cpu-ops MIRROR_PAD" in done.output
    (failure,) = ET.parse(junit).getroot().iter("failure")
    assert "MIRROR_PAD" in failure.attrib["message"] and "expected" in (failure.text or "")
