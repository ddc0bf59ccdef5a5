"""`ethosgen accuracy`, as a user types it."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.accuracy_table import MOST_CLASSES, WIDTH, report_lines
from ethosgen.metrics import classify
from ethosgen.values.accuracy import AccuracyReport, Agreement, Detection, ScoringWork
from ethosgen.values.outcome import Difference
from tests.support.needs import needs_extra
from tests.support.small_models import image_net


def make_report(**changes: object) -> AccuracyReport:
    """Return a report of two samples and two classes."""
    fields = {
        "network": "net",
        "npu": "ethos-u55-128",
        "samples": 2,
        "silent": 0,
        "taken": "",
        "output": None,
        "classification": classify(np.eye(2), np.array([0, 0]), ("cat", "dog"), (1, 2)),
        "detection": None,
        "agreements": (),
        "work": (ScoringWork("simulate", 2, 0, 0.5, 1),),
    }
    return AccuracyReport(**{**fields, **changes})  # type: ignore[arg-type]


def text(**changes: object) -> str:
    return "\n".join(report_lines(make_report(**changes)))


def test_a_classifier_is_a_table() -> None:
    shown = text()
    assert "accuracy  50.00% (1 of 2)" in shown
    assert "top 2     100.00% (2 of 2)" in shown
    (cat,) = (line for line in shown.splitlines() if line.split()[:1] == ["cat"] and "%" in line)
    assert cat.split() == ["cat", "2", "1", "1", "100.0%", "50.0%"]
    assert "2 samples in 0.5 s (4 a second)" in shown
    assert "unchecked" not in shown
    assert "each sample with the oracle's by --on simulate,tflm" in text(check_with="tflm")


@pytest.mark.parametrize("count", [2, 12, MOST_CLASSES])
def test_a_matrix_fits_the_terminal(count: int) -> None:
    names = [f"class of a long name {i}" for i in range(count)]
    labels = np.arange(3 * count) % count
    scores = np.eye(count)[(labels + (np.arange(3 * count) < 2)) % count]  # two are wrong
    shown = text(classification=classify(scores, labels, names)).splitlines()
    assert all(len(line) <= WIDTH + 35 for line in shown)
    start = next(i for i, line in enumerate(shown) if line.split()[:1] == ["answers"])
    head, rows = shown[start].split("label")[1], shown[start + 1 : start + 1 + count]
    assert len(head.split()) == (count if count > 2 else 2 * len(names[0].split()))
    for label, row in enumerate(rows):
        cells = row.split()[-count:]
        assert cells[label] == ("[2]" if label < 2 else "[3]")
        assert [cell for i, cell in enumerate(cells) if i != label].count("1") == (label < 2)


def test_of_many_classes_the_worst_are_shown() -> None:
    count = MOST_CLASSES + 3
    names = [f"c{i}" for i in range(count)]
    labels = np.arange(count)
    answers = np.where(labels == 5, 7, labels)
    shown = text(classification=classify(np.eye(count)[answers], labels, names))
    worst = next(i for i, line in enumerate(shown.splitlines()) if "worst" in line)
    assert shown.splitlines()[worst + 1].split() == ["c5", "1", "0", "0", "-", "0.0%"]
    assert ["c5", "c7", "1"] in [line.split() for line in shown.splitlines()]
    assert "23 classes in all; --tables FOLDER and --json give all" in shown


def test_a_detector_has_its_area() -> None:
    detection = Detection(5, 2, 0.75, 2.0, 1.0)
    shown = text(classification=None, detection=detection)
    assert "AUC       0.7500" in shown
    assert "negatives 3 samples, mean score 1" in shown
    without = Detection(5, 0, None, None, 1.0)
    assert "unknown: it needs" in text(classification=None, detection=without)


def test_a_difference_is_shown() -> None:
    equal = Agreement("simulate", "other", 2, 0)
    assert "equal     simulate and other in 2 samples" in text(agreements=(equal,))
    first = Difference(1, "y", (0, 3), 4, 5)
    shown = text(agreements=(Agreement("simulate", "other", 2, 1, first),))
    assert "DIFFERENT simulate and other in 1 of 2 samples; sample 1, 'y' [0, 3]" in shown


def test_outputs_and_waiting_samples_are_named() -> None:
    shown = text(output="scores", silent=3, taken="p as uint8")
    assert "taken as  p as uint8" in shown
    assert "net, ethos-u55-128, output 'scores': 2 samples" in shown
    assert "3 samples without an output, not judged" in shown


def test_files_of_the_figures(tmp_path: Path) -> None:
    network = str(image_net(tmp_path / "image_net.tflite"))
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 8, 8, 3)), y=range(4))
    (tmp_path / "names.txt").write_text("ant\nbee, wild\ncat\ndog")
    data = ("--data", str(tmp_path / "d.npz"), "--labels", str(tmp_path / "names.txt"))
    asked = ["accuracy", network, *data, "--no-check", "--tables", str(tmp_path / "made")]
    done = CliRunner().invoke(cli, [*asked, "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    figures = json.loads(done.stdout)["classification"]
    files = {path.stem: list(csv.DictReader(path.open())) for path in (tmp_path / "made").iterdir()}
    assert [row["class"] for row in files["classes"]] == ["ant", "bee, wild", "cat", "dog"]
    names = [label["name"] for label in figures["classes"]]
    rows = [[int(row[name]) for name in names] for row in files["confusion"]]
    assert rows == figures["confusion"]
    assert [row["label"] for row in files["samples"]] == ["0", "1", "2", "3"]
    (right,) = [row for row in files["samples"] if row["right"] == "1"]
    assert right["class"] == right["answered class"] and 0 <= float(right["score"]) <= 1
    again = CliRunner().invoke(cli, asked)
    assert again.exit_code != 0 and "exists; name another folder" in str(again.exception)


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_command(tmp_path: Path, more: tuple[str, ...]) -> None:
    network = str(image_net(tmp_path / "image_net.tflite"))
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 8, 8, 3)), y=range(4))  # one is right
    data = ("--data", str(tmp_path / "d.npz"), "--top", "2", "--no-check")
    done = CliRunner().invoke(cli, ["accuracy", network, *data, *more], catch_exceptions=False)
    assert done.exit_code == 0
    if more:
        top = json.loads(done.stdout)["classification"]["top"]
        assert top["1"] == {"right": 1, "accuracy": 0.25} and "2" in top
    else:
        assert "accuracy  25.00% (1 of 4)" in done.stdout


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--top", "99"), "--top 99 is more than the output has, 4 classes"),
        (("--top", "2", "--score", "0"), "--top 2 is for a classifier"),
        (("--mean", "127.5"), "prepare pictures and sounds in a folder"),
    ],
)
def test_options_without_effect_are_refused(
    tmp_path: Path, more: tuple[str, ...], why: str
) -> None:
    network = str(image_net(tmp_path / "image_net.tflite"))
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 8, 8, 3)), y=range(4))
    asked = ["accuracy", network, "--data", str(tmp_path / "d.npz"), "--no-check", *more]
    refused = CliRunner().invoke(cli, asked)
    assert refused.exit_code != 0
    assert why in str(refused.exception)


@needs_extra("images")
def test_pictures_and_their_scale(tmp_path: Path) -> None:
    from PIL import Image

    network = str(image_net(tmp_path / "image_net.tflite"))
    for name in ("0", "1"):
        (tmp_path / "d" / name).mkdir(parents=True)
        Image.new("RGB", (16, 16)).save(tmp_path / "d" / name / "one.png")
    asked = ["accuracy", network, "--data", str(tmp_path / "d"), "--no-check"]
    refused = CliRunner().invoke(cli, asked)
    assert "has the size 16x16, but the input needs 8x8" in str(refused.exception)
    scale = ("--resize", "stretch", "--mean", "1,2,3", "--std", "64")
    done = CliRunner().invoke(cli, [*asked, *scale], catch_exceptions=False)
    assert done.exit_code == 0
    assert "taken as  (p - 1,2,3) / 64, quantized" in done.stdout
    assert "accuracy  " in done.stdout and " of 2)" in done.stdout
    wrong = CliRunner().invoke(cli, [*asked, "--mean", "1;2"])
    assert wrong.exit_code == 2 and "must be a number, or one for each channel" in wrong.output
