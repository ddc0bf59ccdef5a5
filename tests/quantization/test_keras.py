"""Keras models and SavedModels: what is written, against what Keras itself answers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import litert_quantizer  # noqa: F401 - the tests are skipped without it
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from ethosgen.frontend import read
from ethosgen.host.environments import ENVIRONMENTS, Environment
from ethosgen.host.script import run_script
from ethosgen.studies.quantization import quantize
from ethosgen.values.errors import InputError, ToolError
from ethosgen.values.quantization import QuantizationReport, QuantizationRequest
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_keras

pytestmark = pytest.mark.slow

SAMPLES = 40
Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the models, their samples, and what Keras answers."""
    place = tmp_path_factory.mktemp("models")
    generator = np.random.default_rng(4)
    shapes = {"image": (8, 8, 1), "left": (6,), "right": (6,)}
    drawn = {
        name: generator.standard_normal((SAMPLES, *shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    script = ROOT / "tests" / "support" / "keras_models.py"
    reply = run_script(ENVIRONMENTS["keras"], script, "make", {"place": str(place)}, drawn)
    np.savez(place / "picture.npz", x=drawn["image"], y=reply.arrays["picture"].argmax(axis=1))
    np.savez(place / "two.npz", left=drawn["left"], right=drawn["right"])
    np.savez(place / "answers.npz", **reply.arrays)
    return place


def run(network: Path, data: Path, folder: Path, **more: Any) -> QuantizationReport:
    request = QuantizationRequest(network, data, folder / "made.tflite", **more)
    return quantize(request, Watch())


def answers(network: Path, samples: Mapping[str, Array]) -> Array:
    """Return the only output of each sample; the network's ends are floats."""
    interpreter = Interpreter(str(network))
    interpreter.allocate_tensors()
    (output,) = interpreter.get_output_details()
    rows = []
    for number in range(SAMPLES):
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], samples[detail["name"]][number][np.newaxis])
        interpreter.invoke()
        rows.append(interpreter.get_tensor(output["index"]))
    return np.concatenate(rows)


def ratio_db(true: Array, computed: Array) -> float:
    return float(10 * np.log10(np.sum(true**2) / np.sum((true - computed) ** 2)))


@needs_keras
@pytest.mark.parametrize(
    ("name", "activations", "least_db"),
    [("picture.keras", "int8", 25), ("picture", "int8", 25), ("picture.keras", "int16", 35)],
)
def test_the_quantized_network_answers_as_keras(
    models: Path, tmp_path: Path, name: str, activations: str, least_db: float
) -> None:
    data = models / "picture.npz"
    report = run(models / name, data, tmp_path, activations=activations, io="float")
    with np.load(models / "answers.npz") as stored, np.load(data) as samples:
        computed = answers(tmp_path / "made.tflite", {"image": samples["x"]})
        assert ratio_db(stored["picture"], computed) > least_db
    assert report.inputs == {"image": (1, 8, 8, 1)}
    assert report.accuracy is not None
    assert report.accuracy.before == 1  # LiteRT's floats give Keras's classes
    assert report.accuracy.after > 0.9
    graph = read(tmp_path / "made.tflite").graph
    codes = ["CONV_2D", "MAX_POOL_2D", "CONV_2D", "RESHAPE", "FULLY_CONNECTED"]
    assert [op.code for op in graph.operators] == ["QUANTIZE", *codes, "DEQUANTIZE"]
    assert {layer.dtype for layer in report.layers} == {activations}
    assert report.weights_before > 3 * report.weights_after
    files = [models / name, *(models / name).rglob("*")]
    assert report.bytes_before == sum(path.stat().st_size for path in files if path.is_file())


@needs_keras
def test_inputs_keep_their_names(models: Path, tmp_path: Path) -> None:
    report = run(models / "two.keras", models / "two.npz", tmp_path, io="float")
    assert report.inputs.keys() == {"left", "right"}
    with np.load(models / "answers.npz") as stored, np.load(models / "two.npz") as samples:
        computed = answers(tmp_path / "made.tflite", dict(samples))
        assert ratio_db(stored["two"], computed) > 30


@needs_keras
def test_a_layer_of_the_users_own_goes_by_a_saved_model(models: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", x=np.ones((3, 4), np.float32))
    said = r"cannot be loaded by Keras .* alone: .*Doubled.*model\.export\('FOLDER'\)"
    with pytest.raises(InputError, match=said):
        run(models / "own.keras", tmp_path / "data.npz", tmp_path)
    assert not (tmp_path / "made.tflite").exists()
    run(models / "own", tmp_path / "data.npz", tmp_path)
    assert read(tmp_path / "made.tflite").inputs[0].dtype == "int8"


@needs_keras
def test_open_sizes_and_damaged_files_are_one_sentence(models: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.keras").write_bytes((models / "two.keras").read_bytes()[:500])
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "saved_model.pb").write_bytes(b"\x00" * 50)
    for network, said in (
        (models / "open.keras", r"leaves sizes open .* build the model with a keras\.Input"),
        (tmp_path / "bad.keras", "cannot be loaded by Keras"),
        (tmp_path / "bad", "is no valid SavedModel"),
    ):
        with pytest.raises(InputError, match=said) as caught:
            run(network, models / "two.npz", tmp_path)
        assert "\n" not in str(caught.value)


@needs_keras
def test_wrong_shapes_are_one_sentence(models: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "data.npz", image=np.zeros((3, 9, 9, 1), np.float32))
    with pytest.raises(InputError, match=r"\(3, 9, 9, 1\), but must have \(1, 8, 8, 1\)"):
        run(models / "picture.keras", tmp_path / "data.npz", tmp_path)


def test_what_is_no_model_of_keras_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.h5").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for name, said in (
        ("old.h5", r"Keras's old format; .* model\.save\('NETWORK\.keras'\)"),
        ("folder", r"in no format that ethosgen quantizes; .* folder of a SavedModel"),
        ("absent.keras", "no such file"),
    ):
        with pytest.raises(InputError, match=said):
            run(tmp_path / name, tmp_path, tmp_path)
    with pytest.raises(InputError, match=r"'made\.onnx' must end in \.tflite$"):
        quantize(QuantizationRequest(tmp_path / "a.keras", tmp_path, Path("made.onnx")), Watch())


def test_without_the_environment_the_remedy_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.keras").write_bytes(b"PK")
    monkeypatch.delenv("ETHOSGEN_KERAS_PYTHON", raising=False)
    monkeypatch.setattr(Environment, "folder", tmp_path / "nowhere")
    with pytest.raises(ToolError, match=r"'keras', which converts Keras .* doctor --install keras"):
        run(tmp_path / "a.keras", tmp_path, tmp_path)
