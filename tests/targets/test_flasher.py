"""Flashing: the board file's command line, with the files that it asks for."""

from pathlib import Path

import pytest

from ethosgen.board import Board, board_names, load_board
from ethosgen.board.facts import Flasher
from ethosgen.targets import flasher
from ethosgen.targets.flasher import flash, flash_command
from ethosgen.values.errors import InputError, TargetError, ToolError
from ethosgen.values.security import Security
from tests.support.needs import needs_arm_gcc

pytestmark = needs_arm_gcc


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    """Return a small firmware; the test is skipped where there is no compiler."""
    import subprocess

    from ethosgen.host.tools import GCC

    gcc = GCC.find()
    source = tmp_path / "empty.c"
    source.write_text("int main(void) { return 7; }\n")
    firmware = tmp_path / "firmware.elf"
    options = ["-mcpu=cortex-m55", "-nostdlib", "-Wl,-emain", "-Wl,-Ttext=0x1000"]
    subprocess.run([gcc, *options, "-o", firmware, source], check=True)
    return firmware


def board_with(*command: str) -> Board:
    facts = load_board("corstone300")
    return facts.model_copy(update={"flash": {"tool": Flasher(command=list(command))}})


def test_files_are_made_as_they_are_asked_for(elf: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    command = flash_command(elf, ["x", "{bin}", "-f={hex}", "{elf}", "{jlink}"], place)
    firmware = place / "firmware"
    assert command == [
        "x",
        str(firmware.with_suffix(".bin")),
        f"-f={firmware.with_suffix('.hex')}",
        str(elf),
        str(firmware.with_suffix(".jlink")),
    ]
    assert firmware.with_suffix(".hex").read_text().startswith(":")
    assert firmware.with_suffix(".bin").stat().st_size < 64
    assert (
        f'loadfile "{firmware.with_suffix(".hex")}"' in firmware.with_suffix(".jlink").read_text()
    )


def test_a_tool_is_run_without_a_shell(elf: Path, tmp_path: Path) -> None:
    done = flash(elf, board_with("cp", "{elf}", str(tmp_path / "a copy; rm")))
    assert (tmp_path / "a copy; rm").read_bytes() == elf.read_bytes()
    assert done[0].endswith("/cp")


def test_what_can_go_wrong(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "'tool' flashes board 'corstone300': '.*false' ended with status 1"
    with pytest.raises(TargetError, match=said):
        flash(elf, board_with("false"))
    with pytest.raises(ToolError, match=r"no-such-tool \(flashes corstone300\).*ETHOSGEN_TOOL"):
        flash(elf, board_with("no-such-tool"))
    with pytest.raises(InputError, match=r"no flash tool 'x'; it has: tool"):
        flash(elf, board_with("true"), "x")
    empty = load_board("corstone300").model_copy(update={"flash": {}})
    with pytest.raises(InputError, match="has no flash tool; add one"):
        flash(elf, empty)


def test_every_command_of_the_boards_can_be_made(elf: Path, tmp_path: Path) -> None:
    commands = 0
    for name in board_names():
        for tool in load_board(name).flash.values():
            assert not any("{" in word for word in flash_command(elf, tool.command, tmp_path))
            commands += 1
    assert commands >= 8


def test_both_images_of_a_non_secure_firmware_are_flashed(
    elf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = load_board("corstone300").in_state(Security.NON_SECURE)
    elf.with_name("secure.elf").write_bytes(elf.read_bytes())
    told: list[Path] = []
    monkeypatch.setattr(flasher, "flash", lambda image, _board, _tool=None: told.append(image))
    flasher.flash_images(elf, board, None)
    assert told == [elf.with_name("secure.elf"), elf]
