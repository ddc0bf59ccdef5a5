"""Float .tflite networks: what is written, read back by ethosgen and run by plain LiteRT."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import litert_quantizer  # noqa: F401 - the tests are skipped without it
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.frontend import read
from ethosgen.studies.quantization import quantize
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.quantization import QuantizationReport, QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.float_networks import float_network
from tests.support.networks import NetworkBuilder, Spec

pytestmark = pytest.mark.slow

SHAPE = (1, 8, 8, 3)


def images(count: int = 12) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((count, *SHAPE[1:])).astype(np.float32)


def run(network: Path, folder: Path, **more: Any) -> tuple[QuantizationReport, Network]:
    np.savez(folder / "data.npz", image=images())
    output = folder / "made.tflite"
    report = quantize(QuantizationRequest(network, folder / "data.npz", output, **more), Watch())
    return report, read(output)


def outputs(network: Path, batch: np.ndarray | None = None) -> np.ndarray:
    """Return the only output of each sample as floats, by LiteRT's reference kernels."""
    interpreter = Interpreter(
        str(network), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    (input_details,), (output_details,) = (
        interpreter.get_input_details(),
        interpreter.get_output_details(),
    )
    batches = []
    for image in images() if batch is None else batch:
        value = image[np.newaxis]
        if input_details["dtype"] is not np.float32:
            scale, zero = input_details["quantization"]
            limits = np.iinfo(input_details["dtype"])
            value = np.clip(np.rint(value / scale) + zero, limits.min, limits.max)
        interpreter.set_tensor(input_details["index"], value.astype(input_details["dtype"]))
        interpreter.invoke()
        output = interpreter.get_tensor(output_details["index"]).astype(np.float64)
        if output_details["dtype"] is not np.float32:
            output = (output - output_details["quantization"][1]) * output_details["quantization"][
                0
            ]
        batches.append(output)
    return np.concatenate(batches)


@pytest.mark.parametrize(("activations", "bias"), [("int8", "int32"), ("int16", "int64")])
def test_everything_is_an_integer(tmp_path: Path, activations: str, bias: str) -> None:
    _, quantized = run(float_network(tmp_path / "float.tflite"), tmp_path, activations=activations)
    assert [op.code for op in quantized.graph.operators] == [
        *("CONV_2D", "CONV_2D", "MEAN", "FULLY_CONNECTED", "SOFTMAX"),
    ]
    tensors = quantized.graph.tensors
    for op in quantized.graph.operators:
        for index in (op.inputs[0], op.outputs[0]):
            assert tensors[index].dtype == activations
        if len(op.inputs) == 3:
            weights = tensors[op.inputs[1]]
            assert weights.dtype == "int8"
            assert weights.quantization is not None
            assert len(weights.quantization.scale) == weights.shape[0]
            assert tensors[op.inputs[2]].dtype == bias


@pytest.mark.parametrize("activations", ["int8", "int16"])
def test_the_reported_ratio_is_that_of_plain_runs(tmp_path: Path, activations: str) -> None:
    network = float_network(tmp_path / "float.tflite")
    report, _ = run(network, tmp_path, activations=activations)
    true, quantized = outputs(network), outputs(tmp_path / "made.tflite")
    ratio = 10 * np.log10(np.sum(true**2) / np.sum((true - quantized) ** 2))
    assert ratio > 30
    assert report.sqnr_db == pytest.approx(ratio, abs=1)  # one step of LiteRT's other kernels
    assert [layer.name for layer in report.layers] == [
        *("wide", "narrow", "mean", "scores", "shares"),
    ]


def test_outliers_do_not_saturate(tmp_path: Path) -> None:
    _, quantized = run(float_network(tmp_path / "float.tflite"), tmp_path)
    (image,) = quantized.inputs
    assert image.quantization is not None
    (scale,), (zero,) = image.quantization.scale, image.quantization.zero_point
    assert scale * (-128 - zero) <= images().min() + scale
    assert scale * (127 - zero) >= images().max() - scale


def test_a_kept_layer_stays_in_float(tmp_path: Path) -> None:
    report, quantized = run(float_network(tmp_path / "float.tflite"), tmp_path, keep=("narrow",))
    named = {quantized.graph.tensors[op.outputs[0]].name: op for op in quantized.graph.operators}
    assert quantized.graph.tensors[named["narrow"].inputs[1]].dtype == "float32"
    assert quantized.graph.tensors[named["wide"].inputs[1]].dtype == "int8"
    assert [layer.name for layer in report.left_in_float] == ["narrow"]


@pytest.mark.slow
def test_what_helps_a_network_that_quantization_hurts_is_advised(tmp_path: Path) -> None:
    network = float_network(tmp_path / "float.tflite", ratio=3000)
    report, _ = run(network, tmp_path)
    assert report.sqnr_db < 20
    best = report.advice[0]
    assert best.options == ("--keep", "wide", "--keep", "narrow")
    assert best.sqnr_db > 30
    better, _ = run(network, tmp_path, keep=("wide", "narrow"), force=True)
    assert better.sqnr_db == pytest.approx(best.sqnr_db, abs=0.01)
    assert not better.advice


def test_two_tensors_of_one_name_are_told_apart(tmp_path: Path) -> None:
    net = NetworkBuilder("float", seed=3)
    x = net.input(SHAPE, "float32", name="same")
    for _ in range(2):
        (x,) = net.operator("LOGISTIC", [x], [Spec(SHAPE, "float32", name="same")])
    (tmp_path / "float.tflite").write_bytes(net.build(x))
    np.savez(tmp_path / "data.npz", same=images())
    output = tmp_path / "made.tflite"
    request = QuantizationRequest(tmp_path / "float.tflite", tmp_path / "data.npz", output)
    report = quantize(request, Watch())
    assert len({layer.name for layer in report.layers}) == 2
    assert {tensor.dtype for tensor in read(output).graph.tensors} == {"int8"}


def test_a_quantized_network_is_refused(tmp_path: Path) -> None:
    run(float_network(tmp_path / "float.tflite"), tmp_path)
    with pytest.raises(InputError, match="quantized already"):
        run((tmp_path / "made.tflite").rename(tmp_path / "again.tflite"), tmp_path)


@pytest.mark.parametrize("activations", ["int8", "int16"])
def test_inputs_and_outputs_can_be_floats(tmp_path: Path, activations: str) -> None:
    network = float_network(tmp_path / "float.tflite")
    run(network, tmp_path, activations=activations)
    wanted = outputs(tmp_path / "made.tflite")
    report, quantized = run(network, tmp_path, activations=activations, io="float", force=True)
    assert [tensor.dtype for tensor in (*quantized.inputs, *quantized.outputs)] == ["float32"] * 2
    assert {layer.dtype for layer in report.layers} == {activations}
    codes = [op.code for op in quantized.graph.operators]
    assert (codes[0], codes[-1]) == ("QUANTIZE", "DEQUANTIZE")
    np.testing.assert_allclose(outputs(tmp_path / "made.tflite"), wanted, atol=1e-6)


def classified(network: Path, path: Path) -> Path:
    """Write images that the network is sure about, with the classes that it gives them."""
    generator = np.random.default_rng(5)
    batch = generator.standard_normal((400, *SHAPE[1:])) * 0.5
    batch = (batch + generator.standard_normal((400, 1, 1, 3))).astype(np.float32)
    shares = outputs(network, batch)
    best = np.sort(shares, axis=1)
    margin = best[:, -1] - best[:, -2]
    sure = margin > np.quantile(margin, 0.6)
    np.savez(path, x=batch[sure], y=shares[sure].argmax(axis=1))
    return path


@pytest.mark.parametrize("io", ["int8", "float"])
def test_few_layers_become_int16_within_budgets_of_accuracy_and_time(
    tmp_path: Path, io: str
) -> None:
    network, path = float_network(tmp_path / "float.tflite", ratio=300), tmp_path / "made.tflite"
    data = classified(network, tmp_path / "labelled.npz")
    request = QuantizationRequest(network, data, path, io=io, max_loss=0.05)
    where = {"max_ms": 5.0, "board": "corstone300", "npu": "ethos-u55-64"}
    report = quantize(replace(request, **where), Watch())
    mixed = report.mixture
    assert mixed is not None
    assert mixed.loss_int8 > 0.05
    assert mixed.wide == ("wide",)
    with np.load(data) as stored:
        lost = np.mean(outputs(path, stored["x"]).argmax(axis=1) != stored["y"])
    assert float(lost) == pytest.approx(mixed.loss)
    assert mixed.loss <= 0.05

    # `narrow` reads the result of `wide`, so it computes in int16, and its own is then converted
    graph = read(path).graph
    computed = {"CONV_2D": "int16", "MEAN": "int8", "FULLY_CONNECTED": "int8", "SOFTMAX": "int8"}
    for op in graph.operators:
        if op.code in computed:
            kinds = {graph.tensors[index].dtype for index in (op.inputs[0], op.outputs[0])}
            assert kinds == {computed[op.code]}
    ends = [tensor.dtype for tensor in (*read(path).inputs, *read(path).outputs)]
    assert ends == ["float32" if io == "float" else "int8"] * 2

    asked = ["compare", str(path), "--board", "corstone300", "--npu", "ethos-u55-64", "--json"]
    said = CliRunner().invoke(cli, [*asked, "--samples", "0"], catch_exceptions=False)
    (row,) = json.loads(said.stdout)["results"]
    assert mixed.ms == pytest.approx(row["milliseconds"], rel=0.01)
    assert mixed.ms_int8 is not None
    assert mixed.ms > mixed.ms_int8


def test_a_budget_of_time_says_where(tmp_path: Path) -> None:
    request = QuantizationRequest(tmp_path / "a.tflite", tmp_path, tmp_path / "b.tflite")
    for more in ({"max_ms": 1.0}, {"max_ms": 1.0, "max_loss": 0.01}):
        with pytest.raises(InputError, match=r"--max-ms goes with --max-loss, .* and with --board"):
            quantize(replace(request, **more), Watch())
    with pytest.raises(InputError, match="--board and --npu say where --max-ms holds; add it"):
        quantize(replace(request, board="corstone300"), Watch())
