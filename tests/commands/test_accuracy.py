"""`ethosgen accuracy`, as a user types it."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.accuracy import MOST_CLASSES, report_lines
from ethosgen.metrics import classify
from ethosgen.values.accuracy import AccuracyReport, Agreement, Detection, Work
from ethosgen.values.outcome import Difference
from tests.support.small_models import image_net


def make_report(**changes: object) -> AccuracyReport:
    """Return a report of two samples and two classes."""
    fields = {
        "network": "net",
        "npu": "ethos-u55-128",
        "samples": 2,
        "classification": classify(np.eye(2), np.array([0, 0]), ("cat", "dog"), (1, 2)),
        "detection": None,
        "agreements": (),
        "work": (Work("simulate", 2, 0, 0.5, 1),),
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


def test_many_classes_are_cut() -> None:
    names = [str(i) for i in range(MOST_CLASSES + 3)]
    found = classify(np.eye(len(names)), np.arange(len(names)), names)
    assert "and 3 more, listed by --json" in text(classification=found)


def test_a_detector_has_its_area() -> None:
    found = Detection(5, 2, 0.75, 2.0, 1.0)
    shown = text(classification=None, detection=found)
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
