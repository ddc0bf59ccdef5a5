"""Float .pt2 programs: what is written, read back by ethosgen's front end."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.frontend import read
from ethosgen.studies.quantization import quantize
from ethosgen.values.errors import InputError
from ethosgen.values.quantization import QuantizationReport, QuantizationRequest
from ethosgen.values.watch import Watch
from tests.support.pt2_files import pt2_files, pt2_outputs

pytestmark = [pytest.mark.environment("torch"), pytest.mark.slow]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a float program: convolutions, a sum, a pool and a linear layer."""
    return pt2_files(tmp_path_factory, "float", "small")[0]


def run(program: Path, folder: Path, **more: Any) -> QuantizationReport:
    images = np.random.default_rng(5).standard_normal((6, 3, 32, 32)).astype(np.float32)
    np.savez(folder / "data.npz", image=images)
    output = folder / "made.pt2"
    return quantize(QuantizationRequest(program, folder / "data.npz", output, **more), Watch())


def test_all_layers_are_int8_and_ethosgen_reads_them(program: Path, tmp_path: Path) -> None:
    report = run(program, tmp_path)
    assert {layer.dtype for layer in report.layers} == {"int8"}
    assert report.layers[0].operator == "conv2d + relu"
    assert report.sqnr_db > 25
    network = read(tmp_path / "made.pt2")
    layers = [op for op in network.graph.operators if op.code == "CONV_2D"]
    tensors = network.graph.tensors
    assert layers
    for op in layers:
        assert tensors[op.inputs[0]].dtype == tensors[op.inputs[1]].dtype == "int8"
        weights = tensors[op.inputs[1]]
        assert weights.quantization is not None
        assert len(weights.quantization.scale) == weights.shape[0]


def test_activations_can_be_int16_and_a_layer_float(program: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.npy"
    np.save(labels, np.zeros(6, np.int64))
    more = {"activations": "int16", "keep": ("conv2d_1",), "labels": labels}
    report = run(program, tmp_path, **more)
    kinds = {layer.name: layer.dtype for layer in report.layers}
    assert kinds.pop("conv2d_1") == "float32"
    assert set(kinds.values()) == {"int16"}
    assert report.accuracy is not None
    assert report.accuracy.samples == 6


def test_int16_spends_all_its_bits_on_small_values(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (program,) = pt2_files(tmp_path_factory, "float", "softmax")
    values = np.random.default_rng(5).uniform(-0.25, 0.25, (4, 1, 6, 10)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=values)
    output = tmp_path / "made.pt2"
    quantize(QuantizationRequest(program, tmp_path / "data.npz", output, "int16"), Watch())
    network = read(output)
    (op,) = (op for op in network.graph.operators if op.code == "SOFTMAX")
    about = network.graph.tensors[op.inputs[0]].quantization
    assert about is not None
    assert np.abs(values).max() / about.scale[0] > 1 << 14


@pytest.mark.parametrize(("activations", "scale"), [("int8", 1 / 256), ("int16", 1 / 32768)])
def test_softmax_stays_whole(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, activations: str, scale: float
) -> None:
    (program,) = pt2_files(tmp_path_factory, "float", "softmax")
    (tmp_path / "data").mkdir()
    values = np.random.default_rng(5).standard_normal((4, 1, 6, 10)).astype(np.float32)
    np.save(tmp_path / "data" / "x.npy", values)
    quantized = tmp_path / "made.pt2"
    request = QuantizationRequest(program, tmp_path / "data", quantized, activations)
    report = quantize(request, Watch())
    assert [(layer.operator, layer.dtype) for layer in report.layers] == [("softmax", activations)]
    network = read(quantized)
    (op,) = (op for op in network.graph.operators if op.code == "SOFTMAX")
    output = network.graph.tensors[op.outputs[0]]
    assert output.dtype == activations
    assert output.quantization is not None
    assert output.quantization.scale == (scale,)


def test_a_quantized_program_is_refused(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (quantized,) = pt2_files(tmp_path_factory, "ethosu", "small")
    with pytest.raises(InputError, match="quantized already"):
        run(quantized, tmp_path)
    assert not (tmp_path / "made.pt2").exists()


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "float.pt2").write_bytes(b"\x80\x04]\x94.")
    with pytest.raises(InputError, match="pickle"):
        run(tmp_path / "float.pt2", tmp_path)


def test_an_open_batch_is_1_in_the_quantized_program(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    """And a transformer is read again, whose layer norms are quantized, reshaped, and again so."""
    (program,) = pt2_files(tmp_path_factory, "open", "transformer")
    values = np.random.default_rng(5).standard_normal((4, 1, 16, 32)).astype(np.float32)
    np.savez(tmp_path / "data.npz", tokens=values)
    output = tmp_path / "made.pt2"
    report = quantize(QuantizationRequest(program, tmp_path / "data.npz", output), Watch())
    assert report.inputs == {"tokens": (1, 16, 32)}
    assert report.sqnr_db > 20
    network = read(output)
    assert [tensor.shape for tensor in network.inputs] == [(1, 16, 32)]
    codes = [op.code for op in network.graph.operators]
    assert codes.count("SOFTMAX") == 1
    assert codes.count("FULLY_CONNECTED") == 6
    assert codes.count("RSQRT") == 2


def test_what_helps_a_program_that_quantization_hurts_is_advised(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (program,) = pt2_files(tmp_path_factory, "float", "lopsided")
    report = run(program, tmp_path)
    assert report.sqnr_db < 20
    best = report.advice[0]
    assert best.sqnr_db > report.sqnr_db + 20
    assert any(suggestion.options == ("--activations", "int16") for suggestion in report.advice)
    wide = "--activations" in best.options
    more: dict[str, Any] = {"activations": "int16"} if wide else {"keep": best.options[1::2]}
    better = run(program, tmp_path, force=True, **more)
    assert better.sqnr_db == pytest.approx(best.sqnr_db, abs=0.01)
    assert not better.advice


def labelled_classifier(factory: pytest.TempPathFactory, folder: Path) -> tuple[Path, Path]:
    """Return a classifier that int8 hurts, and images with the classes that torch gives them."""
    (program,) = pt2_files(factory, "float", "lopsided_classifier")
    generator = np.random.default_rng(5)
    colours = generator.standard_normal((80, 1, 3, 1, 1))
    images = generator.standard_normal((80, 1, 3, 12, 12)) * 0.5 + 2 * colours
    images = images.astype(np.float32)
    classes = pt2_outputs(program, images).reshape(80, -1).argmax(axis=1)
    assert len(set(classes)) >= 3
    np.savez(folder / "labelled.npz", x=images[:, 0], y=classes)
    return program, folder / "labelled.npz"


def test_as_few_layers_as_the_budget_needs_become_int16(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    program, data = labelled_classifier(tmp_path_factory, tmp_path)
    path = tmp_path / "made.pt2"
    report = quantize(QuantizationRequest(program, data, path, max_loss=0.03), Watch())
    mixed = report.mixture
    assert mixed is not None
    assert mixed.loss_int8 > 0.1
    assert mixed.wide == ("conv2d_1",)
    types = {layer.name: layer.dtype for layer in report.layers}
    # `narrow` reads the result of `wide`, so it computes in int16
    assert [name for name, dtype in types.items() if dtype == "int16"] == ["conv2d_1", "conv2d_2"]
    with np.load(data) as stored:
        answers = pt2_outputs(path, stored["x"][:, np.newaxis]).reshape(80, -1).argmax(axis=1)
        lost = float(np.mean(answers != stored["y"]))
    assert lost == pytest.approx(mixed.loss)
    assert lost <= 0.03
    network = read(path)
    tensors = network.graph.tensors
    convolutions = [op for op in network.graph.operators if op.code == "CONV_2D"]
    kinds = [tensors[op.outputs[0]].dtype for op in convolutions]
    assert kinds == ["int8", "int16", "int16", "int8"]
    assert "float32" not in {tensors[op.outputs[0]].dtype for op in network.graph.operators[:-1]}


@pytest.mark.parametrize("activations", ["int8", "int16"])
def test_inputs_and_outputs_can_be_integers(
    program: Path, tmp_path: Path, activations: str
) -> None:
    run(program, tmp_path, activations=activations)
    with np.load(tmp_path / "data.npz") as stored:
        images = stored["image"][:, np.newaxis]
    wanted = pt2_outputs(tmp_path / "made.pt2", images)
    usual = Counter(op.code for op in read(tmp_path / "made.pt2").graph.operators)
    report = run(program, tmp_path, activations=activations, io="int8", force=True)
    assert len(report.integer_ends) == 2
    network = read(tmp_path / "made.pt2")
    (image,), (scores,) = network.inputs, network.outputs
    assert image.dtype == scores.dtype == activations
    saved = usual - Counter(op.code for op in network.graph.operators)
    assert saved == {"QUANTIZE": 1, "DEQUANTIZE": 1}
    first, last = image.quantization, scores.quantization
    assert first is not None
    assert last is not None
    limits = np.iinfo(activations)
    integers = np.rint(images / first.scale[0]) + first.zero_point[0]
    integers = np.clip(integers, limits.min, limits.max).astype(activations)
    answers = pt2_outputs(tmp_path / "made.pt2", integers).astype(np.float64)
    floats = (answers - last.zero_point[0]) * last.scale[0]
    np.testing.assert_allclose(floats, wanted, atol=1e-5)
