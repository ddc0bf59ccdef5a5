"""--with-ci: the workflow is one, and its test passes and fails as it should."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.board import load_board
from ethosgen.host.tools import TOOLS
from ethosgen.project import render, write
from ethosgen.project.wheel import WHEEL_NAME, make_wheel
from ethosgen.values.errors import InputError
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_qemu
from tests.support.programs import make_program
from tests.support.recipes import recipe
from tests.support.small_models import image_net

WHEEL = f"ci/{WHEEL_NAME}"
SOURCES = ROOT / "generator"


def run_test(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the project's own test as a runner would, without an FVP."""
    command = [sys.executable, "-m", "pytest", "tests/test_firmware.py", "-rs", *arguments]
    environment = {
        "PATH": ":".join({str(tool.find().parent) for tool in TOOLS}),
        "PYTHONPATH": str(SOURCES),
    }
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False
    )


@needs_qemu
def test_a_project_checks_itself_and_fails_closed(tmp_path: Path) -> None:
    place = tmp_path / "p"
    network = image_net(tmp_path / "image_net.tflite")
    flow.create_project(recipe(network), directory=place, with_ci=True, watch=Watch())
    good = run_test(place, "--junitxml=build/pytest.xml")
    assert good.returncode == 0, good.stdout + good.stderr
    assert "1 passed, 1 skipped" in good.stdout
    assert "FVP_Corstone_SSE-300_Ethos-U55 is not on PATH" in good.stdout
    assert {path.name for path in (place / "build").glob("*.xml")} == {
        "junit-qemu.xml",
        "pytest.xml",
    }
    main = place / "app" / "main.c"
    text = main.read_text()
    main.write_text(text.replace("    board_init();\n", "    board_init();\n    return 0;\n", 1))
    bad = run_test(place)
    assert bad.returncode == 1, "a firmware that says nothing is no success"
    shutil.rmtree(place / "build")


def test_the_workflow_runs_the_test_and_keeps_its_verdicts(tmp_path: Path) -> None:
    project = render(make_program(), load_board("corstone300"), with_ci=True)
    workflow = project.files[".github/workflows/firmware.yml"].decode()
    assert "pytest tests/test_firmware.py" in workflow
    assert f"${{{{ vars.ETHOSGEN || '{WHEEL}' }}}}" in workflow
    assert WHEEL in project.application
    assert "if-no-files-found: error" in workflow
    assert not workflow.count("|| true")
    assert {".github/workflows/firmware.yml", "tests/test_firmware.py"} <= project.application
    write(project, tmp_path / "p")
    compile(project.files["tests/test_firmware.py"], "test_firmware.py", "exec")


@pytest.mark.slow
def test_the_wheel_installs_and_has_all_that_a_project_is_made_of(tmp_path: Path) -> None:
    """Install as pip does on a runner, but with this environment's dependencies."""
    wheel, place = tmp_path / WHEEL_NAME, tmp_path / "installed"
    wheel.write_bytes(make_wheel())
    assert make_wheel() == wheel.read_bytes(), "the same files make the same wheel"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile"]
    command = [*pip, "-q", "--target", str(place), str(wheel)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "RECORD" not in done.stderr, "names with commas are quoted there"
    assert (place / "bin" / "ethosgen").is_file()
    network = image_net(tmp_path / "image_net.tflite")
    command = [sys.executable, "-m", "ethosgen", "project", str(network), "--with-ci"]
    command += ["--npu", "none", "--board", "corstone300", "-o", str(tmp_path / "p")]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(place)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert (tmp_path / "p" / WHEEL).read_bytes() == wheel.read_bytes()


def test_the_workflow_can_install_another(tmp_path: Path) -> None:
    board, address = load_board("corstone300"), "git+https://example.org/ethosgen@v1"
    project = render(make_program(), board, with_ci=True, ci_ethosgen=address)
    assert f"|| '{address}' " in project.files[".github/workflows/firmware.yml"].decode()
    assert WHEEL not in project.files
    mine = tmp_path / "ethosgen-9-py3-none-any.whl"
    with pytest.raises(InputError, match="cannot read the wheel"):
        render(make_program(), board, with_ci=True, ci_ethosgen=str(mine))
    mine.write_bytes(b"wheel")
    project = render(make_program(), board, with_ci=True, ci_ethosgen=str(mine))
    assert project.files[f"ci/{mine.name}"] == b"wheel"
    with pytest.raises(InputError, match="pip cannot install"):
        render(make_program(), board, with_ci=True, ci_ethosgen="x' || rm")


def test_it_can_be_added_later_and_overwrites_nothing(tmp_path: Path) -> None:
    place, board = tmp_path / "p", load_board("corstone300")
    write(render(make_program(), board), place)
    (place / "app" / "main.c").write_text("mine")
    files = {".github/workflows/firmware.yml", "tests/test_firmware.py", WHEEL}
    assert write(render(make_program(), board, with_ci=True), place) == files
    assert (place / "app" / "main.c").read_text() == "mine"
    (place / "tests" / "test_firmware.py").write_text("mine")
    (place / ".github" / "workflows" / "firmware.yml").unlink()
    written = write(render(make_program(), board, with_ci=True), place)
    assert written == {".github/workflows/firmware.yml"}
    assert (place / "tests" / "test_firmware.py").read_text() == "mine"
    assert not list(place.glob(".ethosgen-*")), "nothing is left of the stage"
    assert write(render(make_program(), board, with_ci=True), place) == frozenset()


def test_where_nothing_runs_there_is_nothing_to_check() -> None:
    with pytest.raises(InputError, match=r"'alif-e7-hp' has neither"):
        render(make_program(npu="ethos-u55-256"), load_board("alif-e7-hp"), with_ci=True)
    with pytest.raises(InputError, match="--with-ci needs --platform baremetal"):
        render(make_program(), load_board("corstone300"), platform="zephyr", with_ci=True)
    only_fvp = render(make_program(npu="ethos-u65-256"), load_board("corstone315"), with_ci=True)
    assert 'TARGETS = ["fvp"]' in only_fvp.files["tests/test_firmware.py"].decode()
