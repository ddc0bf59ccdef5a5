"""Shapes and layout that the user gives beside an .onnx file, and the limit of fidelity."""

import json
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

from ethosgen import frontend
from ethosgen.cli import cli
from ethosgen.project import open_project
from ethosgen.values.errors import InputError
from ethosgen.values.source import CHANNELS_LAST, ReadOptions
from tests.support.onnx_networks import OnnxNetwork, quantized


@pytest.fixture(scope="module")
def open_batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = OnnxNetwork()
    x = net.add_input("image", 1, 3, 8, 8)
    net.add("Conv", [x, net.weights(4, 3, 3, 3)], "out")
    path = quantized(net.model({"out": (1, 4, 6, 6)}), tmp_path_factory.mktemp("o") / "net.onnx")
    model = onnx.load(path)
    for end in (model.graph.input[0], model.graph.output[0]):
        end.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, path)
    return path


def test_an_open_size_is_named_with_its_symbol(open_batch: Path) -> None:
    with pytest.raises(InputError, match=r"open shape \(batch, 3, 8, 8\).*--shape image=1,3,8,8"):
        frontend.read(open_batch)


def test_a_shape_closes_it(open_batch: Path) -> None:
    network = frontend.read(open_batch, None, ReadOptions((("image", (2, 3, 8, 8)),)))

    assert network.inputs[0].shape == (2, 3, 8, 8)
    assert network.outputs[0].shape == (2, 4, 6, 6)


@pytest.mark.parametrize(
    ("name", "shape", "why"),
    [
        ("image", (1, 4, 8, 8), r"does not fit the input's shape \(batch, 3, 8, 8\)"),
        ("image", (3, 8, 8), "does not fit"),
        ("picture", (1, 3, 8, 8), "unknown input 'picture'"),
    ],
)
def test_a_shape_that_does_not_fit(
    open_batch: Path, name: str, shape: tuple[int, ...], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        frontend.read(open_batch, None, ReadOptions(((name, shape),)))


def test_channels_last_saves_the_transpose(open_batch: Path) -> None:
    options = ReadOptions((("image", (1, 3, 8, 8)),), CHANNELS_LAST)

    network = frontend.read(open_batch, None, options)

    assert network.inputs[0].shape == (1, 8, 8, 3)
    codes = [op.code for op in network.graph.operators]
    assert codes == ["QUANTIZE", "CONV_2D", "TRANSPOSE", "DEQUANTIZE"]


def test_other_formats_take_no_shape() -> None:
    options = ReadOptions((("x", (1,)),))

    with pytest.raises(InputError, match=r"--shape does not apply to 'digits_int8\.tflite'"):
        frontend.read(Path("demo/digits_int8.tflite"), None, options)


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner(catch_exceptions=False).invoke(cli, [str(a) for a in arguments])
    return result.exit_code, result.output


def test_fidelity_is_in_the_report_and_decides_with_a_limit(open_batch: Path) -> None:
    arguments = ("simulate", open_batch, "--shape", "image=1,3,8,8", "--json")

    status, output = run(*arguments)
    figures = json.loads(output)["fidelity"]

    assert status == 0
    assert figures["title"] == "ONNX Runtime"
    assert figures["elements"] == 10 * 4 * 36
    assert figures["most_steps"] < 1.5
    assert run(*arguments, "--input-layout", "nhwc")[0] == 0
    assert run(*arguments, "--fidelity", 1)[0] == 0
    if figures["by_one"]:
        assert run(*arguments, "--fidelity", 0)[0] == 1


def test_a_limit_needs_a_runtime() -> None:
    with pytest.raises(InputError, match="'digits_int8' has none; ethosgen knows ONNX Runtime"):
        run("simulate", "demo/digits_int8.tflite", "--fidelity", 1)


def test_the_project_stores_the_options(open_batch: Path, tmp_path: Path) -> None:
    options = ("--shape", "image=1,3,8,8", "--input-layout", "nhwc")
    directory = tmp_path / "project"

    run("project", open_batch, "--board", "corstone300", "-o", directory, *options)

    info = open_project(directory).network
    assert info.format == "onnx"
    assert info.source.read_bytes() == open_batch.read_bytes()
    assert info.reading == ReadOptions((("image", (1, 3, 8, 8)),), CHANNELS_LAST)
    assert run("project", info.source, "--board", "corstone300", "-o", directory, *options)[0] == 0
