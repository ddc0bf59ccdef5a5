"""`ethosgen build`: what it prints about a firmware."""

from pathlib import Path

import pytest

from ethosgen import flow
from ethosgen.toolchain import Built
from ethosgen.toolchain.sizes import Sizes
from tests.support.command_line import ethosgen

SIZES = Sizes({"total": 1, "code": 1}, {"total": 1, "arena": 1}, {})


@pytest.mark.parametrize("is_absolute", [False, True])
def test_paths_are_told_as_the_user_named_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_absolute: bool
) -> None:
    """CMake's build tells an absolute path for one firmware, and a relative one for the other."""
    place = Path("fw", "build", "qemu")
    monkeypatch.chdir(tmp_path)
    (tmp_path / place).mkdir(parents=True)

    def build_project(_directory: Path, **_options: object) -> Built:
        own = Built(place / "application.elf", "qemu", SIZES)
        return Built(tmp_path / place / "firmware.elf", "qemu", SIZES, own)

    monkeypatch.setattr(flow, "build_project", build_project)
    directory = tmp_path / "fw" if is_absolute else Path("fw")
    shown = ethosgen("build", directory).stdout.splitlines()
    built = directory / "build" / "qemu"
    elfs = [line for line in shown if line.endswith(".elf")]
    assert elfs == [str(built / "firmware.elf"), str(built / "application.elf")]
