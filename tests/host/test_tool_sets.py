"""Programs that the system's package manager installs together."""

import os
from pathlib import Path

import pytest

from ethosgen.host.installation import install_tools
from ethosgen.host.tool_sets import TOOL_SETS
from ethosgen.values.errors import ToolError
from ethosgen.values.watch import Watch

CYCLES = TOOL_SETS["cycles"]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only one on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for tool in CYCLES.tools:
        monkeypatch.delenv(tool.variable, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def apt_get(folder: Path, text: str) -> None:
    """Write a package manager that notes its arguments."""
    program(folder / "apt-get", f"echo \"$@\" > '{folder}/arguments'\n{text}")


def test_root_needs_no_sudo(bare: Path) -> None:
    commands = "".join(f": > '{bare}/{tool.name}'\n" for tool in CYCLES.tools)
    chmod = f"/bin/chmod +x '{bare}'/llvm-*"
    apt_get(bare, f"{commands}{chmod}")
    assert CYCLES.missing == ["llvm-mca-19", "llvm-objdump-19"]
    install_tools(CYCLES, Watch())
    assert (bare / "arguments").read_text() == "install -y llvm-19\n" and not CYCLES.missing
    (bare / "apt-get").unlink()
    install_tools(CYCLES, Watch())


def test_others_use_sudo(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt_get(bare, "")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert CYCLES.command == ("sudo", "apt-get", "install", "-y", "llvm-19")


def test_without_a_package_manager_there_is_advice(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"cannot install 'cycles' here: .*llvm-19"):
        install_tools(CYCLES, Watch())
    assert not list(bare.iterdir())


def test_an_installation_that_fails_or_helps_nothing_is_an_error(bare: Path) -> None:
    apt_get(bare, "echo E: no such package; exit 1")
    with pytest.raises(ToolError, match=r"cannot install 'cycles': E: no such package; correct"):
        install_tools(CYCLES, Watch())
    apt_get(bare, "")
    with pytest.raises(ToolError, match="succeeded, but llvm-mca-19 and llvm-objdump-19 cannot be"):
        install_tools(CYCLES, Watch())
