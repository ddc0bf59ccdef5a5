"""`doctor`: the tools that will be used, and the remedies for missing ones."""

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.commands.doctor import doctor
from ethosgen.flow import doctor as examination
from ethosgen.flow.doctor import Finding, examine
from ethosgen.host import extras
from ethosgen.host.package_managers import MANAGERS
from ethosgen.host.tools import CMAKE, GCC, TOOLS


def program(file: Path, script: str = "exit 0") -> Path:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def finding(name: str) -> Finding:
    (only,) = (finding for finding in examine() if finding.name == name)
    return only


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose PATH has nothing yet, without variables of ours."""
    for name in [name for name in os.environ if name.startswith(("ETHOSGEN_", "ZEPHYR_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_everything_that_is_needed_is_looked_for() -> None:
    names = {finding.name for finding in examine()}
    assert {"arm-none-eabi-gcc", "cmake", "qemu-system-arm", "apache-tvm"} <= names


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "sudo apt-get install -y gcc-arm-none-eabi libnewlib-arm-none-eabi"),
        ("dnf", "sudo dnf install -y arm-none-eabi-gcc-cs arm-none-eabi-newlib"),
        ("pacman", "sudo pacman -S --needed arm-none-eabi-gcc arm-none-eabi-newlib"),
        ("brew", "brew install --cask gcc-arm-embedded"),
    ],
)
def test_what_is_missing_comes_with_the_command_of_this_machine(
    bare: Path, manager: str, command: str
) -> None:
    program(bare / "brew")  # beside the system's own
    program(bare / manager)
    assert finding("arm-none-eabi-gcc").remedy == command
    assert not finding("cmake").is_found


def test_without_a_known_manager_debians_packages_are_named(bare: Path) -> None:
    assert "Debian's packages: qemu-system-arm" in finding("qemu-system-arm").remedy


def test_tools_for_linux_alone_are_optional(bare: Path) -> None:
    for name in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        assert not finding(name).is_found and finding(name).optional
    assert "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" in finding("aarch64-linux-gnu-gcc").remedy
    program(bare / "aarch64-linux-gnu-gcc", "echo libc.a")
    broken = finding("aarch64-linux-gnu-gcc")
    assert not broken.is_found and not broken.optional
    assert "it has no C library (glibc)" in broken.detail


def test_each_manager_has_each_tool() -> None:
    for manager in MANAGERS:
        assert set(manager.packages) >= {tool.name for tool in TOOLS}, manager.program


def test_the_tool_that_will_be_used_is_examined(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(bare / "cmake")
    assert finding("cmake").is_found
    other = program(bare / "my-cmake")
    monkeypatch.setenv(CMAKE.variable, str(other))
    assert finding("cmake").detail.startswith(str(CMAKE.find()))
    program(other, "exit 127")
    assert not finding("cmake").is_found
    assert "ended with status 127" in finding("cmake").detail
    monkeypatch.setenv(CMAKE.variable, "/none/cmake")
    assert "ETHOSGEN_CMAKE names '/none/cmake'" in finding("cmake").detail
    assert finding("cmake").remedy == "correct or unset ETHOSGEN_CMAKE"


def test_a_compiler_without_a_c_library_will_not_do(bare: Path) -> None:
    program(bare / GCC.name, "echo libc.a")
    assert not finding(GCC.name).is_found
    assert "it has no C library (newlib)" in finding(GCC.name).detail
    program(bare / GCC.name, "echo /usr/lib/libc.a")
    assert finding(GCC.name).is_found


def test_what_variables_name_is_examined_too(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {"cbuild", "FVP", "zephyr"}.isdisjoint(each.name for each in examine())
    monkeypatch.setenv("ETHOSGEN_CBUILD", str(program(bare / "cbuild")))
    monkeypatch.setenv("ETHOSGEN_FVP", "/none/fvp")
    monkeypatch.setenv("ZEPHYR_BASE", str(bare))
    assert finding("cbuild").is_found
    assert not finding("FVP").is_found
    assert not finding("zephyr").is_found
    (bare / "VERSION").write_text("VERSION_MAJOR = 4\nVERSION_MINOR = 3\n")
    assert finding("zephyr").detail == f"{bare}; version 4.3"


def test_a_missing_package_comes_with_the_version_that_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "declared", lambda _: ["ethos-u-vela==5.2.*"])
    remedy = f"{sys.executable} -m pip install 'ethos-u-vela==5.2.*'"
    assert finding("ethos-u-vela").remedy == remedy


@pytest.mark.parametrize("complete", [True, False])
def test_it_never_ends_with_a_make_target(complete: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel has no Makefile."""
    tool = Finding("cmake", complete, "there", "sudo apt-get install -y cmake")
    monkeypatch.setattr(examination, "examine", lambda: [tool])
    done = CliRunner().invoke(doctor)
    assert done.exit_code == (0 if complete else 3)
    assert "make " not in done.output.replace("cmake", "")
    assert ("next: " in done.stderr) == complete
    assert complete or "sudo apt-get install -y cmake" in done.output
