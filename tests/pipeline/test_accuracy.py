"""The accuracy of networks on labelled data, on targets that must agree."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.oracle import DEFAULT
from ethosgen.pipeline import accuracy
from ethosgen.pipeline.accuracy import AccuracyRequest, measure_accuracy
from ethosgen.values.accuracy import AccuracyReport
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.watch import Watch
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.small_models import image_net, recurrent_net, two_inputs

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
    given = np.clip(steps + image.quantization.zero_point[0], -128, 127).astype(np.int8)
    made = DEFAULT.run(network, [{image.name: one[np.newaxis]} for one in given])
    answers = [int(one[output.name].argmax()) for one in made]
    np.savez(folder / "d.npz", x=images, y=np.arange(COUNT) % 4)
    return AccuracyRequest(path, folder / "d.npz"), answers


def test_a_classifier_on_two_targets(tmp_path: Path) -> None:
    asked, answers = classifier(tmp_path)
    report = measure(replace(asked, on=("simulate", DEFAULT.name), tops=(1, 4)))
    found = report.classification
    assert found is not None and report.detection is None
    assert found.right[1] == sum(one == i % 4 for i, one in enumerate(answers))
    assert found.right[4] == COUNT
    assert [one.answered for one in found.classes] == [answers.count(i) for i in range(4)]
    (agreement,) = report.agreements
    assert (agreement.samples, agreement.differing, report.passed) == (COUNT, 0, True)
    assert json.loads(json.dumps(report.as_json()))["passed"] is True


def test_targets_that_differ_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, _ = classifier(tmp_path)
    right = accuracy.OracleMaker.__call__

    def wrong(self: Any) -> Any:
        run = right(self)

        def changed(samples: Any) -> Any:
            made = [dict(one) for one in run(samples)]
            for one in (made[2], made[5]):
                one.update({name: array ^ 1 for name, array in one.items()})
            return made

        return changed

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


@needs_build
@needs_qemu
def test_qemu_agrees_sample_by_sample(tmp_path: Path) -> None:
    asked, answers = classifier(tmp_path)
    report = measure(replace(asked, on=("qemu", "simulate"), board="corstone300"))
    assert report.classification is not None and report.npu == "ethos-u55-128"
    assert [one.answered for one in report.classification.classes] == [
        answers.count(i) for i in range(4)
    ]
    assert (report.agreements[0].differing, report.work[0].ran) == (0, COUNT)


@pytest.mark.parametrize(("samples", "sizes"), [(1, 1), (5, 2), (128, 32), (320, 80), (1000, 125)])
def test_all_machines_get_equally_many_samples(samples: int, sizes: int) -> None:
    assert accuracy._chunk_size("qemu", samples, 4) == sizes


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
    given = np.array([[0, 2, 4, 6], [2, 2, 2, 2], [1, 1, 1, 1], [1, 2, 3, 4]], np.int8)
    np.savez(tmp_path / "d.npz", x=given, y=[0, 0, 1, 1])
    report = measure(
        AccuracyRequest(autoencoder(tmp_path), tmp_path / "d.npz", score="reconstruction")
    )
    found = report.detection
    assert found is not None and report.classification is None
    assert (found.auc, found.positives) == (1.0, 2)
    assert (found.mean_negative, found.mean_positive) == (0.0, 0.75)  # 4 and 2 odd values of 4


def test_the_score_of_one_output(tmp_path: Path) -> None:
    given = np.array([[0, 0, 8, 0], [9, 9, 2, 9]], np.int8)
    np.savez(tmp_path / "d.npz", x=given, y=[0, 1])
    asked = AccuracyRequest(autoencoder(tmp_path), tmp_path / "d.npz", score="2")
    found = measure(asked).detection
    assert found is not None
    assert (found.auc, found.mean_negative, found.mean_positive) == (0.0, 8.0, 2.0)
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
    with pytest.raises(UnsupportedError, match="may keep a state between inferences"):
        measure(replace(asked, network=recurrent_net(tmp_path / "r.tflite")))
    np.savez(tmp_path / "d.npz", x=np.zeros((1, 8, 8, 3)), y=[4])
    with pytest.raises(InputError, match="the labels need 5 classes, but 'image_net' has 4"):
        measure(asked)
    halves = np.zeros((1, 4, 4, 8), np.int8)
    np.savez(tmp_path / "d.npz", left=halves, right=halves, y=[0])
    with pytest.raises(InputError, match="judges one output, but 'two_inputs' has 2"):
        measure(replace(asked, network=two_inputs(tmp_path / "two_inputs.tflite")))
