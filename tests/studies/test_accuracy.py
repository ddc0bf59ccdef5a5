"""The accuracy of networks on labelled data, on targets that must agree."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.oracle import DEFAULT
from ethosgen.studies import accuracy
from ethosgen.studies.accuracy import AccuracyRequest, measure_accuracy
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.errors import InputError
from ethosgen.values.network import Network
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.small_models import image_net, recurrent_net, two_inputs
from tests.support.stream_networks import waiting

COUNT = 12


def measure(asked: AccuracyRequest) -> AccuracyReport:
    return measure_accuracy(asked, Watch())


def classifier(folder: Path) -> tuple[AccuracyRequest, list[int]]:
    """Return a request for random images, and TensorFlow Lite Micro's answers."""
    path = image_net(folder / "image_net.tflite")
    images = np.random.default_rng(3).normal(0, 3, (COUNT, 8, 8, 3)).astype(np.float32)
    network = frontend.read(path)
    (image,), (output,) = network.inputs, network.outputs
    assert image.quantization is not None
    steps = np.rint(images / np.float32(image.quantization.scale[0]))
    pixels = np.clip(steps + image.quantization.zero_point[0], -128, 127).astype(np.int8)
    golden = DEFAULT.run(network, [{image.name: picture[np.newaxis]} for picture in pixels])
    answers = [int(outputs[output.name].argmax()) for outputs in golden]
    np.savez(folder / "d.npz", x=images, y=np.arange(COUNT) % 4)
    return AccuracyRequest(path, folder / "d.npz"), answers


def test_a_classifier_on_two_targets(tmp_path: Path) -> None:
    asked, answers = classifier(tmp_path)
    report = measure(replace(asked, on=("simulate", DEFAULT.name), tops=(1, 4)))
    figures = report.classification
    assert figures is not None and report.detection is None
    assert figures.right[1] == sum(answer == i % 4 for i, answer in enumerate(answers))
    assert figures.right[4] == COUNT
    assert [row.answered for row in figures.classes] == [answers.count(i) for i in range(4)]
    (agreement,) = report.agreements
    assert (agreement.samples, agreement.differing, report.passed) == (COUNT, 0, True)
    assert json.loads(json.dumps(report.as_json()))["passed"] is True


def test_targets_that_differ_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _ = classifier(tmp_path)
    right = accuracy.OracleMaker.__call__

    @contextmanager
    def wrong(self: Any) -> Any:
        with right(self) as run:

            def changed(samples: Any) -> Any:
                runs = [[dict(step) for step in steps] for steps in run(samples)]
                for (outputs,) in (runs[2], runs[5]):
                    outputs.update({name: array ^ 1 for name, array in outputs.items()})
                return runs

            yield changed

    monkeypatch.setattr(accuracy.OracleMaker, "__call__", wrong)
    report = measure(replace(asked, on=("simulate", DEFAULT.name)))
    (agreement,) = report.agreements
    assert (agreement.differing, report.passed) == (2, False)
    assert agreement.first is not None and agreement.first.sample == 2


def test_a_run_goes_on_from_its_results(tmp_path: Path) -> None:
    asked, _ = classifier(tmp_path)
    asked = replace(asked, results=tmp_path / "r.jsonl")
    whole = measure(asked)
    lines = (tmp_path / "r.jsonl").read_text().splitlines(keepends=True)
    assert len(lines) == COUNT + 1
    (tmp_path / "r.jsonl").write_text("".join(lines[:6]) + lines[6][:9])
    again = measure(asked)
    assert (again.work[0].kept, again.work[0].ran) == (5, COUNT - 5)
    assert again.classification == whole.classification
    assert measure(asked).work[0].ran == 0
    for changes in ({"npu": "ethos-u65-256"}, {"board": "corstone300"}):
        with pytest.raises(InputError, match=f"another run, whose {next(iter(changes))} differs"):
            measure(replace(asked, **changes))


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    count = 1000
    network, data = image_net(tmp_path / "image_net.tflite"), tmp_path / "d.npz"
    images = np.random.default_rng(6).integers(-128, 128, (count, 8, 8, 3), np.int8)
    np.savez(data, x=images, y=np.arange(count) % 4)
    results = tmp_path / "r.jsonl"
    asked = ["accuracy", network, "--data", data, "--results", results, "--no-check"]
    command = [sys.executable, "-m", "ethosgen", *map(str, asked), "--processes", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and lines(results) < 100:
            time.sleep(0.002)
        process.kill()
        assert process.communicate()[0] == b""
    kept = lines(results) - 1
    assert 90 <= kept < count
    request = AccuracyRequest(
        network, data, results=results, options=replace(EXACT, check=False), processes=1
    )
    report = measure(request)
    assert (report.work[0].kept, report.work[0].ran) == (kept, count - kept)
    assert lines(results) == count + 1
    whole = measure(replace(request, results=None))
    assert (whole.classification, whole.verdicts) == (report.classification, report.verdicts)


def lines(path: Path) -> int:
    """Return the number of whole lines in a file, 0 if there is none."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


@needs_build
@needs_qemu
def test_qemu_agrees_sample_by_sample(tmp_path: Path) -> None:
    asked, answers = classifier(tmp_path)
    report = measure(replace(asked, on=("qemu", "simulate"), board="corstone300"))
    assert report.classification is not None and report.npu == "ethos-u55-128"
    assert [figures.answered for figures in report.classification.classes] == [
        answers.count(i) for i in range(4)
    ]
    assert (report.agreements[0].differing, report.work[0].ran) == (0, COUNT)


def test_qemu_needs_a_board(tmp_path: Path) -> None:
    asked, _ = classifier(tmp_path)
    with pytest.raises(InputError, match="--on qemu runs a board's firmware; name the board"):
        measure(replace(asked, on=("simulate", "qemu")))


def test_worker_processes_change_nothing(tmp_path: Path) -> None:
    asked, _ = classifier(tmp_path)
    alone, shared = measure(asked), measure(replace(asked, processes=2))
    assert shared.work[0].processes == 2
    assert shared.classification == alone.classification


def autoencoder(folder: Path) -> Path:
    """Write a network that returns its input in steps twice as wide, so that odd values differ."""
    net = NetworkBuilder("autoencoder")
    x = net.input((1, 4), scale=1.0, zero_point=0, name="x")
    path = folder / "autoencoder.tflite"
    path.write_bytes(net.build(net.quantize(x, "int8", 2.0, 0)))
    return path


def test_the_score_of_an_autoencoder(tmp_path: Path) -> None:
    inputs = np.array([[0, 2, 4, 6], [2, 2, 2, 2], [1, 1, 1, 1], [1, 2, 3, 4]], np.int8)
    np.savez(tmp_path / "d.npz", x=inputs, y=[0, 0, 1, 1])
    report = measure(
        AccuracyRequest(autoencoder(tmp_path), tmp_path / "d.npz", score="reconstruction")
    )
    detection = report.detection
    assert detection is not None and report.classification is None
    assert (detection.auc, detection.positives) == (1.0, 2)
    assert (detection.mean_negative, detection.mean_positive) == (
        0.0,
        0.75,
    )  # 4 and 2 odd values of 4


def test_the_score_of_one_output(tmp_path: Path) -> None:
    inputs = np.array([[0, 0, 8, 0], [9, 9, 2, 9]], np.int8)
    np.savez(tmp_path / "d.npz", x=inputs, y=[0, 1])
    asked = AccuracyRequest(autoencoder(tmp_path), tmp_path / "d.npz", score="2")
    detection = measure(asked).detection
    assert detection is not None
    assert (detection.auc, detection.mean_negative, detection.mean_positive) == (0.0, 8.0, 2.0)
    for score in ("4", "-1", "worst"):
        with pytest.raises(InputError, match=f"--score {score} is neither"):
            measure(replace(asked, score=score))


def test_what_cannot_be_judged(tmp_path: Path) -> None:
    asked, _ = classifier(tmp_path)
    with pytest.raises(InputError, match="unknown target 'mars' of --on"):
        measure(replace(asked, on=("mars",)))
    with pytest.raises(InputError, match="--on names a target twice"):
        measure(replace(asked, on=("simulate", "simulate")))
    with pytest.raises(InputError, match="is for an autoencoder"):
        measure(replace(asked, score="reconstruction"))
    with pytest.raises(InputError, match="unknown --state sometimes; choose from: reset"):
        measure(replace(asked, state="sometimes"))
    np.savez(tmp_path / "d.npz", x=np.zeros((1, 8, 8, 3)), y=[4])
    with pytest.raises(InputError, match="the labels need 5 classes, but 'image_net' has 4"):
        measure(asked)


def test_one_of_several_outputs_is_judged_and_all_are_compared(tmp_path: Path) -> None:
    inputs = np.random.default_rng(1).integers(-128, 128, (3, 4, 4, 8), np.int8)
    np.savez(tmp_path / "d.npz", left=inputs, right=inputs[::-1], y=[0, 1, 2])
    network = two_inputs(tmp_path / "two_inputs.tflite")
    asked = AccuracyRequest(network, tmp_path / "d.npz", on=("simulate", DEFAULT.name))
    with pytest.raises(InputError, match="has 2; choose it with --output-tensor: 0 or '"):
        measure(asked)
    with pytest.raises(
        InputError, match="--output-tensor 2 is not an output of 'two_inputs'; choose from"
    ):
        measure(replace(asked, output="2"))
    first, second = frontend.read(network).outputs
    for output, tensor in (("0", first), (second.name, second)):
        report = measure(replace(asked, output=output))
        assert report.classification is not None and report.output == tensor.name
        assert len(report.classification.classes) == tensor.elements
        assert report.agreements[0].differing == 0


def stream(folder: Path) -> tuple[Network, AccuracyRequest, np.ndarray[Any, Any]]:
    """Return a network with a state, a request for sequences (6 of 3 steps), and these."""
    path = recurrent_net(folder / "r.tflite")
    network = frontend.read(path)
    (x,) = network.inputs
    inputs = np.random.default_rng(4).integers(-128, 128, (6, 3, *x.shape)).astype(x.dtype)
    np.savez(folder / "d.npz", x=inputs, y=range(6))
    on = ("simulate", DEFAULT.name)
    return network, AccuracyRequest(path, folder / "d.npz", on=on, state="sequence"), inputs


def answers(network: Network, runs: Sequence[np.ndarray[Any, Any]]) -> list[int]:
    """Return TensorFlow Lite Micro's answers after sequences of inputs, each by a new run."""
    (x,), (y,) = network.inputs, network.outputs
    outputs = [DEFAULT.run(network, [{x.name: step} for step in steps])[-1] for steps in runs]
    return [int(output[y.name].argmax()) for output in outputs]


def answered(report: AccuracyReport) -> list[int]:
    """Return the answers by label; each label has one sample."""
    assert report.classification is not None and report.passed
    return [int(np.argmax(row)) for row in report.classification.confusion[: report.samples]]


def test_the_state_is_reset_before_each_sequence(tmp_path: Path) -> None:
    network, asked, inputs = stream(tmp_path)
    assert answered(measure(asked)) == answers(network, inputs)


def test_the_state_is_reset_before_each_sample_or_never(tmp_path: Path) -> None:
    network, asked, inputs = stream(tmp_path)
    flat = inputs[:2].reshape(-1, *inputs.shape[2:])
    np.savez(tmp_path / "d.npz", x=flat, y=range(6))
    alone = answered(measure(replace(asked, state="reset")))
    assert alone == answers(network, [flat[i : i + 1] for i in range(6)])
    asked = replace(asked, state="stream", results=tmp_path / "r.jsonl")
    kept = answered(measure(asked))
    assert kept == answers(network, [flat[: i + 1] for i in range(6)])
    assert kept != alone
    lines = (tmp_path / "r.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "r.jsonl").write_text("".join(lines[:4]))
    again = measure(asked)
    assert (again.work[0].kept, again.work[0].ran) == (0, 6)  # nothing keeps the state
    assert answered(again) == kept


@needs_build
@needs_qemu
def test_qemu_resets_the_state_between_sequences(tmp_path: Path) -> None:
    _, asked, _ = stream(tmp_path)
    asked = replace(asked, on=("qemu", "simulate"), board="corstone300", processes=1)
    assert measure(asked).passed


def test_samples_without_an_output_are_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "rings.tflite"
    net = NetworkBuilder("waiting", 1)
    path.write_bytes(net.build(*waiting(net)))
    network = frontend.read(path)
    (x,) = network.inputs
    inputs = np.random.default_rng(4).integers(-128, 128, (12, *x.shape)).astype(x.dtype)
    np.savez(tmp_path / "d.npz", x=inputs, y=np.zeros(12, int))
    asked = AccuracyRequest(path, tmp_path / "d.npz", on=("simulate", DEFAULT.name), output="0")
    with pytest.raises(InputError, match="had no output for any sample: it waits for more inputs"):
        measure(asked)
    report = measure(replace(asked, state="stream"))
    assert report.passed and 0 < report.samples < 12 and report.samples + report.silent == 12
