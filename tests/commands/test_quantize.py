"""`ethosgen quantize`: its report, its files, and a sentence for each kind of bad data."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.quantization import QUANTIZERS
from ethosgen.values.errors import EthosgenError, InputError, ToolError
from tests.support.float_networks import digits_pt2, digits_tflite, trained_digits
from tests.support.float_onnx import digits_onnx, small_onnx
from tests.support.needs import needs_extra, needs_torch

pytestmark = pytest.mark.slow


def images(count: int = 6) -> np.ndarray:
    return np.random.default_rng(5).standard_normal((count, 3, 8, 8)).astype(np.float32)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with float.onnx and data.npz."""
    monkeypatch.chdir(tmp_path)
    small_onnx(tmp_path / "float.onnx")
    np.savez("data.npz", image=images())
    return tmp_path


def invoke(*more: str, network: str = "float.onnx", output: str = "made.onnx") -> Any:
    command = ["quantize", network, "-o", output, *more]
    if "--data" not in more:
        command += ["--data", "data.npz"]
    result = CliRunner().invoke(cli, command, catch_exceptions=True)
    if isinstance(result.exception, EthosgenError):
        raise result.exception
    return result


def test_the_report_names_each_layer_and_the_next_command(work: Path) -> None:
    said = invoke()
    assert said.exit_code == 0
    rows = [line.split() for line in said.stdout.splitlines()]
    (gemm,) = (row for row in rows if row[1:2] == ["Gemm"])
    assert gemm[2] == "int8"
    assert gemm[-1] == "dB"
    assert "ethosgen verify made.onnx --board corstone300" in said.stderr
    assert sorted(path.name for path in work.iterdir()) == ["data.npz", "float.onnx", "made.onnx"]


def test_json_has_the_same_facts(work: Path) -> None:
    report = json.loads(invoke("--json", "--activations", "int16").stdout)
    assert report["activations"] == "int16"
    assert report["samples"] == report["measured_samples"] == 6
    assert report["inputs"] == {"image": [1, 3, 8, 8]}
    assert {layer["dtype"] for layer in report["layers"]} == {"int16"}
    assert report["sqnr_db"] > 30
    assert report["accuracy"] is None
    assert report["bytes_after"] == (work / "made.onnx").stat().st_size


def test_an_existing_file_is_replaced_only_with_force(work: Path) -> None:
    (work / "made.onnx").write_text("mine")
    with pytest.raises(InputError, match=r"'made\.onnx' exists; .*--force"):
        invoke()
    assert (work / "made.onnx").read_text() == "mine"
    assert invoke("--force").exit_code == 0
    assert (work / "made.onnx").stat().st_size > 1000


def save(**arrays: Any) -> Callable[[], None]:
    return lambda: np.savez("data.npz", **arrays)


NAN = images()
NAN[2, 0, 0, 0] = np.nan


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (save(photo=images()), "no input is called 'photo'; the inputs are: 'image'"),
        (save(), "input 'image' is missing"),
        (save(image=images()[:, :1]), r"shape \(6, 1, 8, 8\), but must have \(1, 3, 8, 8\)"),
        (save(image=images().astype(np.float64)), "is float64, but must be float32"),
        (save(image=NAN), "sample 2 of input 'image' holds values that are not finite"),
        (save(image=images(0)), "has no samples"),
        (lambda: Path("data.npz").write_bytes(b"PK"), r"not an \.npz file"),
        (lambda: Path("data.npz").unlink(), "no such file"),
    ],
)
def test_bad_calibration_data_are_one_sentence(
    work: Path, spoil: Callable[[], None], says: str
) -> None:
    spoil()
    with pytest.raises(InputError, match=says) as caught:
        invoke()
    assert "\n" not in str(caught.value)
    assert not (work / "made.onnx").exists()


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (np.zeros(5, np.int64), r"has shape \(5,\), but must have \(6,\)"),
        (np.zeros(6, np.float32), "labels are the numbers of classes, but it holds float32"),
    ],
)
def test_bad_labels_are_one_sentence(work: Path, labels: np.ndarray, says: str) -> None:
    np.save("labels.npy", labels)
    with pytest.raises(InputError, match=says):
        invoke("--labels", "labels.npy")
    assert not (work / "made.onnx").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"network": "absent.onnx"}, "cannot read 'absent.onnx'"),
        ({"network": "weights.pth"}, "pickled checkpoint"),
        ({"network": "float.pb"}, r"must end in: \.onnx, \.tflite, \.keras, \.pt2; or be"),
        ({"output": "made.tflite"}, r"must end in \.onnx"),
        ({"output": "./float.onnx"}, "is the float network itself"),
    ],
)
def test_bad_files_are_one_sentence(work: Path, arguments: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        invoke("--force", **arguments)
    assert sorted(path.name for path in work.iterdir()) == ["data.npz", "float.onnx"]


def test_an_unknown_layer_is_one_sentence_and_writes_nothing(work: Path) -> None:
    with pytest.raises(InputError, match=r"no layer is called 'score' \(did you mean 'scores'\?\)"):
        invoke("--keep", "score")
    assert not (work / "made.onnx").exists()


def test_test_data_without_labels_are_refused(work: Path) -> None:
    with pytest.raises(InputError, match="name them with --labels"):
        invoke("--test-data", "data.npz")


def test_a_missing_extra_is_one_sentence(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ethosgen.host.extras.is_here", lambda name: False)
    with pytest.raises(ToolError, match=r"needs onnx and onnxruntime; .*\[onnx\]'"):
        invoke()


def test_a_folder_of_npy_files_calibrates_too(work: Path) -> None:
    (work / "samples").mkdir()
    for number, image in enumerate(images()):
        np.save(work / "samples" / f"{number}.npy", image[np.newaxis])
    from_folder = json.loads(invoke("--data", "samples", "--json").stdout)
    from_file = json.loads(invoke("--force", "--json").stdout)
    assert from_folder["layers"] == from_file["layers"]


def test_the_digits_lose_less_than_half_a_percent_as_onnx(work: Path) -> None:
    layers, calibration, held_out = trained_digits()
    digits_onnx(work / "digits.onnx", layers)
    for name, batch in (("data", calibration), ("test", held_out.images)):
        np.savez(f"{name}.npz", image=batch.transpose(0, 3, 1, 2))
    check_digits("digits.onnx", "made.onnx", held_out)


@needs_extra("quantize")
def test_the_digits_lose_less_than_half_a_percent_as_tflite(work: Path) -> None:
    layers, calibration, held_out = trained_digits()
    digits_tflite(work / "digits.tflite", layers, calibration)
    np.savez("data.npz", image=calibration)
    np.savez("test.npz", image=held_out.images)
    check_digits("digits.tflite", "made.tflite", held_out)


@needs_torch
def test_the_digits_lose_less_than_half_a_percent_as_pt2(work: Path) -> None:
    layers, calibration, held_out = trained_digits()
    digits_pt2(work / "digits.pt2", layers)
    for name, batch in (("data", calibration), ("test", held_out.images)):
        np.savez(f"{name}.npz", image=batch.transpose(0, 3, 1, 2))
    check_digits("digits.pt2", "made.pt2", held_out)


def check_weights(report: Any) -> None:
    """Compare the weights' size with that of the layers: int8, and int32 biases."""
    from convnet import Residual, Weighted

    layers = [x.conv if isinstance(x, Residual) else x for x in trained_digits()[0]]
    weighted = [layer for layer in layers if isinstance(layer, Weighted)]
    weights = sum(layer.weights.value.size for layer in weighted)
    biases = sum(layer.bias.value.size for layer in weighted)
    extra = report["weights_before"] - 4 * (weights + biases)
    assert 0 <= extra <= 32  # a RESHAPE's shape
    assert report["weights_after"] == weights + 4 * biases + extra


def check_digits(network: str, output: str, held_out: Any) -> None:
    from convnet import forward

    np.save("labels.npy", held_out.labels)
    options = ("--test-data", "test.npz", "--labels", "labels.npy", "--json")
    report = json.loads(invoke(*options, network=network, output=output).stdout)
    check_weights(report)
    accuracy = report["accuracy"]
    answers = forward(trained_digits()[0], held_out.images).argmax(axis=1)
    assert accuracy["samples"] == len(held_out.labels)
    assert accuracy["before"] == pytest.approx(np.mean(answers == held_out.labels), abs=1e-9)
    assert accuracy["before"] > 0.95
    assert abs(accuracy["after"] - accuracy["before"]) <= 0.005


def test_labels_come_in_each_form_that_accuracy_takes(work: Path) -> None:
    classes = np.array([0, 1, 2, 3, 4, 0])
    np.save("labels.npy", classes)
    np.savez("inside.npz", x=images(), y=classes)
    for number, (image, label) in enumerate(zip(images(), classes, strict=True)):
        for folder in (Path("folders") / str(label), Path("listed")):
            folder.mkdir(parents=True, exist_ok=True)
            np.save(folder / f"{number}.npy", image[np.newaxis])
    lines = (f"{number}.npy,{label}\n" for number, label in enumerate(classes))
    Path("table.csv").write_text("".join(lines))
    forms = (
        ("--labels", "labels.npy"),
        ("--data", "inside.npz"),
        ("--test-data", "inside.npz"),
        ("--data", "folders"),
        ("--data", "listed", "--labels", "table.csv"),
    )
    accuracies = [
        json.loads(invoke("--force", "--json", *form).stdout)["accuracy"] for form in forms
    ]
    session = onnxruntime.InferenceSession("float.onnx")
    answers = session.run(None, {"image": images()})[0].argmax(axis=1)
    assert accuracies[0]["before"] == np.mean(answers == classes)
    assert accuracies[0]["samples"] == 6
    assert all(accuracy == accuracies[0] for accuracy in accuracies)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--labels", "names.txt"), r"names\.txt: the classes' names .* go with a folder"),
        (("--mean", "1"), r"data\.npz: --mean, .* prepare pictures"),
        (("--data", "bad.npz"), r"bad\.npz: labels are the numbers of classes"),
        (("--data", "folder", "--labels", "table.csv"), r"folder|table"),
    ],
)
def test_labels_that_do_not_fit_are_one_sentence(
    work: Path, options: tuple[str, ...], says: str
) -> None:
    Path("names.txt").write_text("a\nb\n")
    Path("table.csv").write_text("absent.npy,1\n")
    Path("folder").mkdir()
    np.savez("bad.npz", x=images(), y=np.zeros(6, np.float32))
    with pytest.raises(InputError, match=says) as caught:
        invoke(*options)
    assert "\n" not in str(caught.value)
    assert not (work / "made.onnx").exists()


def test_each_format_has_a_script() -> None:
    assert QUANTIZERS
    for quantizer in QUANTIZERS:
        assert quantizer.script.is_file()
