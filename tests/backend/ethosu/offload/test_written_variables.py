"""A CIRCULAR_BUFFER's output, which its file calls a variable, beside an NPU."""

from pathlib import Path

from ethosgen import flow
from ethosgen.backend.ethosu.offload.rewording import reworded
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.networks import NetworkBuilder, Spec
from tests.support.signal_networks import make
from tests.support.stream_networks import waiting


def _returned() -> bytes:
    """Return a network whose output is what a CIRCULAR_BUFFER keeps of a layer."""
    net = NetworkBuilder("returned", 3)
    x = net.conv2d(net.input((1, 1, 8, 4)), channels=6, kernel=(1, 3))
    variable = net.tensors[x]
    kept = Spec((1, 4, 8, 6), "int8", variable.scale, variable.zero_point, is_variable=True)
    return net.build(*make(net, "CIRCULAR_BUFFER", [x], [kept], cycles_max=1))


def test_an_output_that_the_file_calls_a_variable_is_returned(tmp_path: Path) -> None:
    """Vela dropped it from the network's outputs, and the network was refused."""
    path = tmp_path / "returned.tflite"
    path.write_bytes(_returned())
    report = flow.simulate(path, npu="ethos-u55-128", inputs=Inputs(None, 6, 1), watch=Watch())
    assert report.passed
    assert (report.plan.npu_operators, len(report.plan.cpu_operators)) == (1, 1)


def test_only_outputs_are_settled() -> None:
    network = parse_network(_returned(), "returned")
    settled = reworded(network)
    assert [t.name for t in network.graph.tensors if t.is_variable] == [network.outputs[0].name]
    assert not any(t.is_variable for t in settled.graph.tensors)
    assert reworded(settled) is settled


def test_the_check_draws_until_there_are_outputs(tmp_path: Path) -> None:
    """The check drew five samples that all ended at a waiting buffer, and compared nothing."""
    net = NetworkBuilder("waiting", 3)
    path = tmp_path / "waiting.tflite"
    path.write_bytes(net.build(*waiting(net)))
    report = flow.simulate(path, npu="ethos-u55-128", inputs=Inputs(None, 6, 1), watch=Watch())
    check = report.plan.check
    assert check is not None and check.samples == 30
    assert check.elements == 5 * report.golden.elements > 0
