"""Options of `run`, `verify` and `flash` that concern boards, as a user types them."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.board import load_board
from ethosgen.cli import cli
from ethosgen.commands.wording import edits_line
from ethosgen.project import find_edits, open_project, render, write
from ethosgen.values.errors import EthosgenError, InputError
from tests.support.needs import needs_build, needs_qemu
from tests.support.programs import make_program
from tests.support.small_models import image_net


def run(*arguments: str) -> int:
    done = CliRunner().invoke(cli, list(arguments))
    if isinstance(done.exception, EthosgenError):
        raise done.exception
    return done.exit_code


@pytest.fixture
def project(tmp_path: Path) -> Path:
    board = load_board("alif-e7-hp")
    write(render(make_program(npu="ethos-u55-256"), board), tmp_path / "p")
    return tmp_path / "p"


def test_a_board_without_a_simulator_names_what_it_has(project: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'alif-e7-hp' does not run on qemu; .*--on serial"):
        run("build", str(project), "--on", "qemu")
    network = image_net(tmp_path / "image_net.tflite")
    with pytest.raises(InputError, match=r"'corstone310' does not run on qemu; .*--on fvp or ser"):
        run("verify", str(network), "--board", "corstone310")


def test_a_target_is_one_that_the_firmware_can_run_on(project: Path, tmp_path: Path) -> None:
    network = str(image_net(tmp_path / "image_net.tflite"))
    for command in (("build", str(project)), ("run", str(project))):
        with pytest.raises(InputError, match=r"unknown target 'mars'; choose one of: qemu, fvp"):
            run(*command, "--on", "mars")
    verify = ("verify", network, "--board", "corstone300")
    with pytest.raises(InputError, match="native needs a Zephyr"):
        run(*verify, "--on", "native")
    with pytest.raises(InputError, match=r"--flash writes to a board; .*instead of --on qemu"):
        run(*verify, "--flash", "pyocd")


def test_what_was_not_built_is_neither_run_nor_flashed(project: Path) -> None:
    for command in (("--on", "serial", "--port", "/dev/none"), ("--on", "fvp")):
        place = project
        if command[1] == "fvp":
            place = project.parent / "fvp"
            write(render(make_program(), load_board("corstone300")), place)
        says = rf"was not built for {command[1]} yet; run: ethosgen build .* --on {command[1]}$"
        with pytest.raises(InputError, match=says):
            run("run", str(place), *command)
    with pytest.raises(InputError, match=r"was not built for serial yet; .* --on serial$"):
        run("flash", str(project))


def test_a_library_that_is_not_as_it_was_written_is_named(project: Path) -> None:
    info = open_project(project)
    assert find_edits(info) == {}
    source = project / "model" / "plus_one.c"
    source.write_text(source.read_text() + "\n")
    (project / "model" / "mine.c").write_text("")
    (project / "model" / "plus_one.h").unlink()
    edits = find_edits(info)
    assert edits == {
        "model/mine.c": "added",
        "model/plus_one.c": "edited",
        "model/plus_one.h": "missing",
    }
    line = edits_line(project, edits)
    assert "model/mine.c (added), model/plus_one.c (edited), model/plus_one.h (missing)" in line


def test_edits_are_told_before_a_run_that_fails(project: Path) -> None:
    (project / "model" / "plus_one.c").write_text("")
    done = CliRunner().invoke(cli, ["run", str(project), "--on", "serial", "--port", "loop://"])
    assert isinstance(done.exception, InputError), done.output  # it has not been built
    assert "model/plus_one.c (edited)" in done.stderr


@needs_qemu
def test_a_run_warns_of_an_edited_library(tmp_path: Path) -> None:
    place = tmp_path / "p"
    network = str(image_net(tmp_path / "image_net.tflite"))
    assert run("project", network, "--board", "corstone300", "-o", str(place)) == 0
    assert run("build", str(place)) == 0
    header = place / "model" / "image_net.h"
    header.write_text(header.read_text() + "/* mine */\n")
    with pytest.raises(InputError, match=r"before its sources .* changed; build it again: ethosg"):
        run("run", str(place))
    assert run("build", str(place)) == 0
    done = CliRunner().invoke(cli, ["run", str(place), "--json"])
    assert done.exit_code == 0
    assert "model/image_net.h (edited)" in done.stderr
    assert json.loads(done.stdout)["model_edits"] == {"model/image_net.h": "edited"}


@needs_build
def test_without_on_a_project_is_built_for_what_runs_its_board(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, npu, target in (
        ("alif-e7-hp", "ethos-u55-256", "serial"),
        ("corstone320", "ethos-u85-256", "qemu"),
        ("corstone310", "ethos-u55-256", "fvp"),
        ("corstone300", "ethos-u55-128", "qemu"),
    ):
        place = tmp_path / name
        write(render(make_program(npu=npu), load_board(name)), place)
        with pytest.raises(InputError, match=f"was not built for {target} yet; .* --on {target}$"):
            run("run", str(place))
    place = tmp_path / "alif-e7-hp"
    assert run("build", str(place)) == 0
    assert (place / "build" / "board" / "firmware.elf").is_file()


def test_a_port_is_for_a_serial_target(project: Path) -> None:
    assert run("run", str(project), "--on", "qemu", "--port", "/dev/none") == 2
    assert run("run", str(project), "--on", "serial", "--baud", "9600") == 2


def test_a_verdict_is_written_when_the_run_fails(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    with pytest.raises(InputError):
        run("run", str(project), "--on", "serial", "--junit", str(path))
    error = ET.parse(path).getroot().find("testsuite/testcase/error")
    assert error is not None and "was not built" in error.attrib["message"]


def test_a_memory_mode_that_there_is_not(tmp_path: Path) -> None:
    network = str(image_net(tmp_path / "image_net.tflite"))
    arguments = ("project", network, "-o", str(tmp_path / "q"))
    with pytest.raises(InputError, match=r"unknown --memory-mode .fast.; choose one of: sram_only"):
        run(*arguments, "--board", "corstone300", "--memory-mode", "fast")
    with pytest.raises(InputError, match=r"'alif-e7-hp' has no memory mode 'dedicated_sram'"):
        run(*arguments, "--board", "alif-e7-hp", "--memory-mode", "dedicated_sram")
    assert not (tmp_path / "q").exists()


def test_a_run_of_the_folder_one_is_in_names_its_suite(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    with pytest.raises(InputError, match="was not built"):
        run("run", ".", "--on", "serial", "--port", "/dev/none", "--junit", "out.xml")
    suite = ET.parse(project / "out.xml").getroot().find("testsuite")
    assert suite is not None and suite.attrib["name"] == f"ethosgen.{project.name}"


@pytest.mark.parametrize("command", ["verify", "simulate", "run"])
def test_a_negative_seed_is_a_usage_error(command: str) -> None:
    more = ("--board", "corstone300") if command == "verify" else ()
    assert run(command, "x", *more, "--seed", "-1") == 2


def test_linux_has_a_board_and_a_platform_of_its_own(tmp_path: Path) -> None:
    network = str(image_net(tmp_path / "image_net.tflite"))
    for number, option in enumerate((("--platform", "linux"), ("--board", "aarch64-linux"))):
        place = tmp_path / str(number)
        assert run("project", network, *option, "-o", str(place)) == 0
        info = open_project(place)
        assert (info.board.name, info.platform, info.npu) == ("aarch64-linux", "linux", "none")
        with pytest.raises(InputError, match=r"program for Linux, which nobody flashes; "):
            run("flash", str(place))
    with pytest.raises(InputError, match=r"'aarch64-linux' does not run on fvp"):
        run("build", str(tmp_path / "0"), "--on", "fvp")
    with pytest.raises(InputError, match="an element of a pipeline is a firmware"):
        run("pipeline", network, "--stages", "2", "--board", "aarch64-linux")


def test_a_host_is_for_ssh_alone(project: Path) -> None:
    for more in (("--on", "qemu"), ("--port", "/dev/none")):
        assert run("run", str(project), "--host", "pi@board", *more) == 2
    with pytest.raises(InputError, match="'alif-e7-hp' does not run on ssh"):
        run("run", str(project), "--host", "pi@board")
