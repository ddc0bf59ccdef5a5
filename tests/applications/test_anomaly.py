"""Anomaly detection: on QEMU, with Zephyr, and what it expects."""

import re
from pathlib import Path

import numpy as np
import pytest
import vibration

from ethosgen.applications import APPLICATIONS
from ethosgen.applications.vectors import load_vectors
from ethosgen.flow import Feed, RunOptions, build_project, verify
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.project import open_project
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests import ROOT
from tests.support.application_projects import create, edited, run
from tests.support.needs import needs_build, needs_qemu, needs_zephyr
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

ANOMALY = APPLICATIONS["anomaly"]
VIBRATION = ROOT / "demo" / "vibration_int8.tflite"
DAMAGED = ((6.0, 0.0), (2.0, vibration.DAMAGE), (2.0, 0.0))
"""A motor's seconds, and the damage of its bearing."""
SIZE = 16
LEARNING = 32


def autoencoder() -> bytes:
    net = NetworkBuilder("encoder", seed=3)
    x = net.input((1, SIZE))
    return net.build(net.fully_connected(net.fully_connected(x, 6, "RELU"), SIZE))


def classifier() -> bytes:
    net = NetworkBuilder("classifier", seed=3)
    return net.build(net.fully_connected(net.input((1, SIZE)), 3))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(tmp_path_factory.mktemp("anomaly"), [("encoder", autoencoder())], "anomaly")


@needs_build
@needs_qemu
def test_every_line_follows_from_the_oracles_outputs(project: Path) -> None:
    report = run(project)
    assert report.passed and report.verdict == "PASS"
    assert report.items == len(report.lines) == len(report.expected or ())
    told = [line.split("  ")[-1] for line in report.lines]
    assert told[:LEARNING] == ["learning"] * LEARNING
    assert told.count("ANOMALY BEGINS") == told.count("ANOMALY ENDS") == 1
    errors = [float(re.split(r"error +| of", line)[1]) for line in report.lines]
    assert max(errors[:LEARNING]) * 1.5 == pytest.approx(float(report.lines[-1].split()[5]), 0.001)


@needs_build
@needs_qemu
def test_a_build_that_counts_steps_has_the_application_too(project: Path) -> None:
    try:
        build_project(project, profile=True, watch=Watch())
        assert run(project).passed
    finally:
        build_project(project, watch=Watch())


@needs_build
@needs_qemu
def test_settings_that_changed_after_the_build_are_not_run(project: Path) -> None:
    path = project / "application" / "settings.h"
    before = path.read_text()
    assert run(project).passed
    try:
        path.write_text(before.replace("SENSOR_PERIOD_MS 1000", "SENSOR_PERIOD_MS 500"))
        with pytest.raises(InputError, match=r"application.elf' was built before its sources in"):
            run(project)
    finally:
        path.write_text(before)
        build_project(project, watch=Watch())


@needs_build
@needs_qemu
def test_a_file_gives_the_sensors_vectors(project: Path, tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(5, SIZE)).astype(np.float32)
    np.savetxt(tmp_path / "some.csv", vectors, delimiter=",", header="a,b", comments="")
    np.save(tmp_path / "signal.npy", vectors.ravel())
    rows, signal = run(project, tmp_path / "some.csv"), run(project, tmp_path / "signal.npy")
    assert rows.passed and signal.passed and rows.items == 5
    assert [line.split()[3] for line in rows.lines] == [line.split()[3] for line in signal.lines]
    assert rows.lines[4].startswith("     4.000 s  error")


@needs_build
@needs_qemu
def test_a_damaged_bearing_is_heard_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    place = create(tmp_path, [("motor", VIBRATION.read_bytes())], "anomaly")
    rng = np.random.default_rng(3)
    parts = [vibration.signal(seconds, rng, damage) for seconds, damage in DAMAGED]
    np.savetxt(tmp_path / "motor.csv", np.concatenate(parts), header="g", comments="")
    report = run(place, tmp_path / "motor.csv")
    assert report.passed
    changes = [
        (int(line.split(".")[0]), line.split("  ")[-1])
        for line in report.lines
        if "BEGINS" in line or "ENDS" in line
    ]
    (first, begins), (last, ends) = changes
    assert (begins, ends) == ("ANOMALY BEGINS", "ANOMALY ENDS")
    window_s = vibration.WINDOW / vibration.RATE
    (sound_s, _), (damaged_s, _), _ = DAMAGED
    assert first == pytest.approx(sound_s / window_s, abs=3)
    assert last == pytest.approx((sound_s + damaged_s) / window_s, abs=4)


@needs_qemu
def test_settings_are_read_where_the_application_has_them(project: Path) -> None:
    with (
        edited(project, "settings.h", "SENSOR_PERIOD_MS 1000", "SENSOR_PERIOD_MS 250"),
        edited(project, "settings.h", "FIXED_THRESHOLD 0", "FIXED_THRESHOLD 1"),
    ):
        report = run(project)
    assert report.passed
    assert report.lines[1].startswith("     0.250 s") and "ANOMALY BEGINS" in report.lines[1]


@needs_build
@needs_qemu
def test_a_wrong_application_fails(project: Path) -> None:
    with edited(project, "detector.c", "error > detector->threshold", "false"):
        report = run(project)
    assert report.verdict == "FAIL" and not report.passed
    assert "not" in report.first and "ANOMALY BEGINS" in report.first


@needs_build
@needs_qemu
def test_verify_runs_the_application_too(tmp_path: Path) -> None:
    (tmp_path / "encoder.tflite").write_bytes(autoencoder())
    np.save(tmp_path / "few.npy", np.zeros((3, SIZE), np.float32))
    report = verify(
        recipe(tmp_path / "encoder.tflite", app="anomaly"),
        RunOptions(Inputs(None, 1, 0)),
        feed=Feed((tmp_path / "few.npy",)),
        watch=Watch(),
    )
    assert report.passed and report.application is not None
    assert report.as_json()["application"]["items"] == 3


@needs_zephyr
@needs_qemu
@pytest.mark.slow
def test_it_runs_with_zephyr(tmp_path: Path) -> None:
    place = create(tmp_path, [("encoder", autoencoder())], "anomaly", "zephyr")
    report = run(place)
    assert report.passed and len(report.lines) == report.items


def test_the_manifest_names_the_application(tmp_path: Path) -> None:
    place = create(tmp_path, [("encoder", autoencoder())], "anomaly", build=False)
    assert open_project(place).app == "anomaly"
    readme = (place / "README.md").read_text()
    assert "application/sensor_host.c" in readme and "ethosgen run . --harness" in readme


@pytest.mark.parametrize(
    ("networks", "fault"),
    [
        ((classifier(),), "reproduces its input, such as an autoencoder, but .* 3 values of 16"),
        ((autoencoder(), autoencoder()), "one network, which reproduces its input, but got 2"),
    ],
)
def test_networks_that_do_not_fit_are_refused(networks: tuple[bytes, ...], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        ANOMALY.check([parse_network(network, f"net{i}") for i, network in enumerate(networks)])


@pytest.mark.parametrize("scales", [(0.1, 1e20), (1e-30, 0.1), (0.0, 0.1), (1e-3, 1e5)])
def test_scales_too_far_apart_are_refused(scales: tuple[float, float]) -> None:
    net = NetworkBuilder("far")
    content = net.build(net.quantize(net.input((1, SIZE), scale=scales[0]), "int8", scales[1], 0))
    with pytest.raises(InputError, match=r"cannot compute the error of 'far' in 64 bits: its sca"):
        ANOMALY.check([parse_network(content, "far")])
    ANOMALY.check([parse_network(autoencoder(), "near")])


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("some.txt", "1", "is not a .csv, .npy or .npz file"),
        ("some.csv", "", "has no numbers"),
        ("some.csv", "a,b\n1,x\n", "line 2 of '.*' has 'x' instead of a number"),
        ("some.csv", "1,2\n3\n", "line 2 of '.*' has 1 value, but the first has 2"),
        ("some.csv", "1,2\n3,4\n", "rows of 2 values, but the network takes vectors of 16"),
        ("some.csv", "1\n2\n", "has 2 values, but a vector has 16"),
        (
            "some.csv",
            ",".join(["nan"] * SIZE),
            "line 1 of '.*' has 'nan', but a sensor gives finite numbers",
        ),
    ],
)
def test_bad_files_get_a_sentence(name: str, content: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=fault):
        load_vectors(tmp_path / name, SIZE)
