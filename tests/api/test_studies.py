"""Accuracy and comparisons through the package."""

from pathlib import Path

import numpy as np
import pytest

import ethosgen
from ethosgen.studies.comparison import sources_digest
from ethosgen_sweep.jobs import do_jobs
from ethosgen_sweep.sweeping import Measure, SweepRequest, Todo
from tests import ROOT
from tests.support.needs import needs_extra

DIGITS = ROOT / "demo" / "digits_int8.tflite"
NPU = "ethos-u55-128"


def test_compare_returns_a_result_for_each_combination() -> None:
    report = ethosgen.compare(ethosgen.read(DIGITS), npus=[NPU, "none"], samples=2, processes=1)
    assert report.passed
    assert [result.setting.npu for result in report.results] == [NPU, "none"]
    rows = [result.as_json() for result in report.results]
    assert all(row["exact"] and row["elements"] > 0 for row in rows)
    assert rows[0]["cycles"] < rows[1]["cycles"]
    with pytest.raises(ethosgen.EthosgenError, match="strategies: 'speed' is none of"):
        ethosgen.compare(DIGITS, strategies="speed")


def test_accuracy_takes_arrays_as_it_takes_files(tmp_path: Path) -> None:
    images = next(iter(ethosgen.draw_samples(DIGITS, 12).values()))
    answers = ethosgen.simulate(DIGITS, npu=NPU, inputs=images)
    best = np.argmax(next(iter(answers.outputs.values())).reshape(12, -1), axis=1)
    labels = np.where(np.arange(12) < 9, best, (best + 1) % 10)
    np.savez(tmp_path / "data.npz", x=images, y=labels)
    np.save(tmp_path / "labels.npy", labels)
    told = []
    for data, classes in (
        (images, labels),
        ({"image": images}, list(map(int, labels))),
        (tmp_path / "data.npz", None),
    ):
        report = ethosgen.accuracy(DIGITS, data, classes, npu=NPU, processes=1)
        assert report.classification is not None
        figures = report.as_json()
        figures.pop("work", None)
        told.append(figures["classification"])
    assert told[0] == told[1] == told[2]
    assert told[0]["top"]["1"] == {"right": 9, "accuracy": 0.75}
    with pytest.raises(ethosgen.EthosgenError, match="labels in memory"):
        ethosgen.accuracy(DIGITS, images)


def test_what_is_wrong_with_arrays_names_no_file() -> None:
    images = next(iter(ethosgen.draw_samples(DIGITS, 4).values()))
    labels = [1, 2, 3, 4]
    wrong = (
        ({"foo": images}, labels, "the arrays: no input is called 'foo'; the inputs are: 'image'"),
        (images, [1, 2], "the arrays: input 'image' has 4 samples, but there are 2 labels"),
        (images[..., :3, :], labels, "the arrays: input 'image' has shape "),
        (images, [1.5, 2, 3, 4], "the arrays: labels must be integers from 0"),
        (images, ["a"] * 4, "labels: must be numbers, but the array is of <U1"),
        (images, [[1], [2, 3]], "labels: the rows have different lengths"),
        ([[1], [2, 3]], [1, 2], "input 'x': the rows have different lengths"),
        ({"image": np.array([{}])}, [1], "input 'image': must be numbers, but the array is of obj"),
    )
    for data, classes, said in wrong:
        with pytest.raises(ethosgen.EthosgenError, match="^" + said) as told:
            ethosgen.accuracy(DIGITS, data, classes, npu=NPU, processes=1)
        assert ".np" not in str(told.value)


@needs_extra("sweep")
def test_sweep_takes_what_the_store_has_without_workers(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        f'networks = ["{DIGITS.as_posix()}"]\nnpus = ["{NPU}", "none"]\n'
        'samples = 1\ncheck = false\n[[data]]\npath = "d.npz"\n'
    )
    images = next(iter(ethosgen.draw_samples(DIGITS, 6).values()))
    np.savez(tmp_path / "d.npz", x=images, y=np.arange(6))
    asked = SweepRequest(study, tmp_path / "store")
    todo = Todo(asked)
    compute = Measure(sources_digest())
    for batch in todo.batches(lambda: 1):
        for answer in do_jobs(compute, batch.jobs, batch.shared, todo.store.shelf()):
            todo.take(answer)
    said: list[str] = []
    report = ethosgen.sweep(study, store=tmp_path / "store", announce=said.append)
    assert report.passed and report.counts.kept == 2 and report.counts.computed == 0
    assert not any("worker" in line for line in said)
    compared = ethosgen.compare(
        DIGITS, npus=[NPU, "none"], samples=1, processes=1,
        options=ethosgen.OffloadOptions(check=False),
    )  # fmt: skip
    assert report.results == compared.results
    unchecked = ethosgen.OffloadOptions(check=False)
    for labelled, npu in zip(report.accuracy, (NPU, "none"), strict=True):
        alone = ethosgen.accuracy(DIGITS, images, range(6), npu=npu, options=unchecked)
        assert (
            labelled.report is not None and labelled.report.classification == alone.classification
        )
    with pytest.raises(ethosgen.EthosgenError, match="cannot read study"):
        ethosgen.sweep(tmp_path / "none.toml")
