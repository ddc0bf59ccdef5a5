"""Accelerators that keep a state between inferences, compared over sequences of samples."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.aot import compile_program
from ethosgen.backend import load_wrapped
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.studies.acceptance import check_accelerator
from ethosgen.values.plan import IoStyle, OffloadOptions
from ethosgen.values.recipe import Recipe
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.cpu_only import plan_cpu_only
from ethosgen.verdict.judgement import Inputs
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.state_accelerators import SOURCE, TOML, write_lstm_folder, write_svdf_folder
from tests.support.toy_accelerator import changed

LOCAL = '[memory.local]\nbytes = 64\nsymbol = "m"\ncopy_in = "a"\ncopy_out = "b"\n'


def two_layers(with_cpu: bool) -> bytes:
    """Return a network of two SVDFs, with an operator of the CPU between them or without."""
    net = NetworkBuilder("states", seed=4)
    first = svdf(net, net.input((2, 8), name="x"), 6, 4, rank=2)
    return net.build(svdf(net, net.relu(first) if with_cpu else first, 5, 3))


@pytest.mark.slow
@needs_gcc
@needs_qemu
@pytest.mark.parametrize("with_cpu", [True, False])
def test_a_firmware_keeps_the_states_of_an_accelerator(with_cpu: bool, tmp_path: Path) -> None:
    folder = write_svdf_folder(tmp_path / "svdf-engine")
    network = tmp_path / "states.tflite"
    network.write_bytes(two_layers(with_cpu))
    recipe = Recipe((network,), "corstone300", "none", accelerators=(str(folder),))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 8, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.golden is not None and report.golden.mismatches == 0
    assert report.plan.shares[0].operators == 2


@pytest.mark.slow
@needs_gcc
@needs_qemu
def test_a_firmware_keeps_both_states_of_an_lstm(tmp_path: Path) -> None:
    net = NetworkBuilder("lstm", seed=4)
    network = tmp_path / "lstm.tflite"
    network.write_bytes(net.build(lstm(net, net.input((1, 3, 4), "float32"), 5)))
    folder = str(write_lstm_folder(tmp_path / "lstm-engine"))
    options = OffloadOptions(steps=1)
    recipe = Recipe((network,), "corstone300", "none", options=options, accelerators=(folder,))
    report = flow.verify(recipe, flow.RunOptions(Inputs(None, 8, 0)), watch=Watch())
    assert isinstance(report, Report) and report.passed
    assert report.plan.shares[0].operators == 1


def test_a_state_is_in_the_memory_that_the_networks_reset_initializes(tmp_path: Path) -> None:
    network = parse_network(two_layers(with_cpu=True), "states.tflite")
    plan = plan_cpu_only(network, IoStyle.ARENA)
    plan = load_wrapped(str(write_svdf_folder(tmp_path / "svdf-engine"))).compile(plan, {})
    program = compile_program(plan, "states")
    sizes = [(variable.memory, variable.bytes) for variable in program.variables]
    assert sizes == [("state", 2 * 12 * 4 * 2), ("state", 2 * 5 * 3 * 2)]
    assert "int16_t *" in plan.partitions[0].call.function.parameters, "it is not const"
    assert "int8_t *state" in program.sources["states_graph.c"]


@needs_gcc
def test_check_tries_sequences(tmp_path: Path) -> None:
    for folder in (write_svdf_folder(tmp_path / "svdf"), write_lstm_folder(tmp_path / "lstm")):
        (result,) = check_accelerator(load_wrapped(str(folder)), 0, Watch())
        assert result.passed and result.networks > 3 and result.elements > 400
    wrong = changed("kept[f * memory + i + 1];", "kept[f * memory + i];", SOURCE)
    folder = write_svdf_folder(tmp_path / "forgets", source=wrong)
    (result,) = check_accelerator(load_wrapped(str(folder)), 0, Watch())
    assert result.findings and min(finding.sample for finding in result.findings) > 0


def test_a_state_that_the_function_does_not_get_is_refused(tmp_path: Path) -> None:
    toml = changed('"bias", "state", "output"', '"bias", "output"', TOML)
    accelerator = load_wrapped(str(write_svdf_folder(tmp_path / "svdf", toml)))
    network = parse_network(two_layers(with_cpu=True), "states.tflite")
    offers = accelerator.offers(plan_cpu_only(network, IoStyle.ARENA), {})
    refusals = {offer.refusal for offer in offers.values()}
    assert "it cannot keep a variable that is not among its arguments" in refusals


@needs_gcc
def test_an_lstm_gets_both_of_its_states(tmp_path: Path) -> None:
    net = NetworkBuilder("lstm", seed=4)
    network = parse_network(net.build(lstm(net, net.input((1, 3, 4), "float32"), 5)), "l.tflite")
    accelerator = load_wrapped(str(write_lstm_folder(tmp_path / "lstm"))).allowing(1)
    (partition,) = accelerator.compile(plan_cpu_only(network, IoStyle.ARENA), {}).partitions
    assert partition.call.function.parameters[13:16] == ("float *",) * 3


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "\n[[operator]]",
            f"\n{LOCAL}\n[[operator]]",
            "a state cannot be in its own memory",
        ),
        (
            "\n[[operator]]",
            "\n[memory]\nalignment = 32\n\n[[operator]]",
            "an alignment of 16 bytes",
        ),
        ("\n[[operator]]", "\n[[operator]]", ""),
        ('kind = "device"', 'kind = "device"\nhost = false', "does not run on this machine"),
    ],
)
def test_a_state_needs_memory_of_the_network(old: str, new: str, why: str, tmp_path: Path) -> None:
    folder = write_svdf_folder(tmp_path / "svdf", changed(old, new, TOML))
    network = parse_network(two_layers(with_cpu=True), "states.tflite")
    offers = load_wrapped(str(folder)).offers(plan_cpu_only(network, IoStyle.ARENA), {})
    assert any(why in offer.refusal for i, offer in offers.items() if i != 1)
