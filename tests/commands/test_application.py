"""What the commands say about applications: which options belong together, and what is kept."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.applications import APPLICATIONS
from ethosgen.cli import cli
from ethosgen.project import open_project
from ethosgen.values.errors import InputError
from tests import ROOT
from tests.support.application_projects import create

VIBRATION = ROOT / "demo" / "vibration_int8.tflite"
DIGITS = ROOT / "demo" / "digits_int8.tflite"


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("applications")
    return create(place, [("vibration", VIBRATION.read_bytes())], "anomaly", build=False)


def fault(*words: str | Path) -> str:
    result = command(*words)
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_the_applications_are_listed() -> None:
    for name in ("project", "verify"):
        assert "[anomaly|image|" in " ".join(command(name, "--help").output.split())
        listed = command(name, "--app", "list")
        assert listed.exit_code == 0
        for application in APPLICATIONS.values():
            title = f"{application.name:<9} {application.title}"
            assert f"{title}\n          input: {application.accepts}\n" in listed.output


def test_an_unknown_application_gets_the_known_ones(tmp_path: Path) -> None:
    place = tmp_path / "none"
    told = fault("project", DIGITS, "--board", "corstone300", "--app", "anomly", "-o", place)
    assert "did you mean 'anomaly'?" in told and not place.exists()


def test_options_for_samples_need_the_harness(project: Path) -> None:
    assert "--samples is for the networks on samples" in fault("run", project, "--samples", "3")
    assert "add --harness" in fault("run", project, "--profile")
    assert "which --harness leaves out" in fault("run", project, "some.csv", "--harness")
    assert "was not built for qemu yet" in fault("run", project, "some.csv")


def test_an_application_has_its_weights_in_the_code(tmp_path: Path) -> None:
    place = tmp_path / "none"
    asked = ("project", DIGITS, "--board", "corstone300", "--app", "image", "--weights", "blob")
    for more in ((), ("--io", "arena"), ("--io", "caller")):
        assert "leave out --weights blob" in fault(*asked, *more, "-o", place)
    assert not place.exists()


def test_files_that_are_missing_are_told_without_numbers_of_errors(tmp_path: Path) -> None:
    missing = tmp_path / "none.txt"
    asked = ("project", DIGITS, "--board", "corstone300", "--app", "image", "--no-check")
    told = fault(*asked, "--app-labels", missing, "-o", tmp_path / "none")
    assert told == f"cannot read the labels '{missing}': No such file or directory"


def test_files_and_labels_need_an_application(tmp_path: Path) -> None:
    place, labels = tmp_path / "plain", tmp_path / "labels.txt"
    project = command("project", DIGITS, "--board", "corstone300", "--no-check", "-o", place)
    assert project.exit_code == 0
    told = fault("run", place, "one.png")
    assert told.startswith("'one.png' is for an application") and "does not have" in told
    corstone = ("--board", "corstone300")
    assert "name it with --app" in fault("verify", DIGITS, *corstone, "--app-input", "a.csv")
    labels.write_text("one\n")
    told = fault("project", DIGITS, *corstone, "--app-labels", labels, "-o", tmp_path / "x")
    assert "--app-labels is for an application that names classes" in told
    told = fault(
        "verify", VIBRATION, *corstone, "--app", "anomaly", "--on", "serial", "--port", "x"
    )
    assert "but a board holds one" in told


def test_generating_again_keeps_the_application(project: Path) -> None:
    own = project / "application" / "application.c"
    own.write_text(own.read_text() + "/* mine */\n")
    network = project.parent / "vibration.tflite"
    again = ("project", network, "--board", "corstone300", "--no-check", "-o", project)
    assert command(*again).exit_code == 0
    assert open_project(project).app == "anomaly" and own.read_text().endswith("/* mine */\n")
    assert "a network of one image" in fault(*again, "--app", "image")


def test_another_application_needs_another_directory(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    network, corstone = DIGITS, ("--board", "corstone300", "--no-check")
    assert command("project", network, *corstone, "-o", plain).exit_code == 0
    told = fault("project", network, *corstone, "--app", "image", "-o", plain)
    assert "was generated with --app 'none'" in told


def test_the_workflow_checks_the_networks(tmp_path: Path) -> None:
    place = tmp_path / "with_ci"
    wheel = "git+https://example.org/ethosgen"
    words = ("--board", "corstone300", "--no-check", "--app", "image", "--ci-ethosgen", wheel)
    assert command("project", DIGITS, *words, "-o", place).exit_code == 0
    assert '("--harness", "--samples"' in (place / "tests" / "test_firmware.py").read_text()
