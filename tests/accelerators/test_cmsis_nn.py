"""The library accelerators/cmsis-nn: exact on this machine; what is said without its sources."""

from pathlib import Path

import pytest

from ethosgen import flow, frontend
from ethosgen.aot import cpu_cycles
from ethosgen.backend.wrapped.accelerator import load_wrapped
from ethosgen.backend.wrapped.external import find_external
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.eager_accelerator import eager_copy
from tests.support.needs import needs_cmsis_nn, needs_gcc
from tests.support.networks import NetworkBuilder

NAME = "cmsis-nn"


def test_a_missing_path_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CMSIS_NN_PATH", raising=False)
    with pytest.raises(InputError) as error:
        find_external(load_wrapped(NAME).folder)
    assert str(error.value) == (
        "the accelerator 'cmsis-nn' needs the sources of Arm's CMSIS-NN: set CMSIS_NN_PATH to the "
        "folder that has Include/arm_nnfunctions.h"
    )


def test_a_wrong_path_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CMSIS_NN_PATH", str(tmp_path))
    with pytest.raises(InputError, match="is not the folder that has Include"):
        find_external(load_wrapped(NAME).folder)


def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "Include").mkdir()
    (tmp_path / "Include" / "arm_nnfunctions.h").touch()
    monkeypatch.setenv("CMSIS_NN_PATH", str(tmp_path))
    with pytest.raises(InputError, match="has no file Source/BasicMath"):
        find_external(load_wrapped(NAME).folder)


@needs_gcc
@needs_cmsis_nn
@pytest.mark.parametrize("per_channel", [True, False])
def test_its_layers_equal_the_oracle(per_channel: bool, tmp_path: Path) -> None:
    net = NetworkBuilder("layers", seed=3)
    x = net.input((1, 11, 9, 5))
    y = net.conv2d(x, 19, (3, 2), (2, 1), "SAME", "RELU6", per_channel=per_channel)
    y = net.conv2d(y, 7, (1, 1), (1, 1), "VALID", "NONE", per_channel=per_channel)
    path = tmp_path / "layers.tflite"
    path.write_bytes(net.build(y))
    taking_all = str(eager_copy(NAME, tmp_path))
    report = flow.simulate(
        path, npu="none", accelerators=(taking_all,), inputs=Inputs(None, 6, 1), watch=Watch()
    )
    assert report.passed
    assert report.plan.check is not None and not report.plan.check.cases
    assert report.plan.shares[0].operators == 2, "it did not run them"


def test_a_convolution_of_one_pixel_is_estimated_as_a_dense_layer(tmp_path: Path) -> None:
    """Both multiply rows that are contiguous: 2.5 instructions for 16 products of a channel."""
    net = NetworkBuilder("point", seed=3)
    y = net.conv2d(net.input((1, 6, 6, 128)), 128, (1, 1), (1, 1), "VALID", "NONE")
    path = tmp_path / "point.tflite"
    path.write_bytes(net.build(y))
    graph = frontend.read(path).graphs[0]
    cycles = cpu_cycles(graph.operators[0], graph)
    assert cycles is not None and cycles < 166_521, "CMSIS-NN's instructions, as measured"
