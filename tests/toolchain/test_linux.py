"""Builds for Linux: what they need, and the sizes of the program."""

from pathlib import Path

import pytest

from ethosgen.toolchain import build_linux, find_linux
from ethosgen.values.errors import InputError, ToolError
from tests.support.linux_programs import build_native, write_linux_project
from tests.support.needs import needs_native
from tests.support.programs import SCRATCH_BYTES


@needs_native
def test_sizes_are_the_programs_own(tmp_path: Path) -> None:
    info = write_linux_project(tmp_path / "p")
    with pytest.raises(InputError, match=r"not built for ssh yet; run: ethosgen build .* --on ssh"):
        find_linux(info, "board", "ssh")
    built = build_native(info, "board")
    assert find_linux(info, "board", "ssh") == built
    sizes = built.sizes
    assert sizes.ram["arena"] == SCRATCH_BYTES
    assert sizes.flash["total"] == sum(n for part, n in sizes.flash.items() if part != "total")
    assert 0 < sizes.flash["total"] < built.elf.stat().st_size
    assert sizes.ram["total"] > sizes.ram["arena"]


def test_a_missing_compiler_is_named_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = write_linux_project(tmp_path / "p")
    for name in ("cmake", "ninja", "apt-get"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = (
        r"aarch64-linux-gnu-gcc .* not found .*apt-get install -y gcc-aarch64-linux-gnu libc6-dev"
    )
    with pytest.raises(ToolError, match=said):
        build_linux(info)
