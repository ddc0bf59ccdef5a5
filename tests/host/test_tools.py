"""External programs: found, overridden, missing, run."""

import time
from pathlib import Path

import pytest

from ethosgen.host.tools import TOOLS, CommandError, Tool, run_command
from ethosgen.values.errors import ToolError

TOOL = Tool("frobnicate", "ETHOSGEN_FROB", "frobs", "get it from frob.example")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "frobnicate"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_found_on_path(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ETHOSGEN_FROB", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))
    assert TOOL.find() == program


def test_the_variable_comes_first(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/none")
    monkeypatch.setenv("ETHOSGEN_FROB", str(program))
    assert TOOL.find() == program


def test_a_missing_tool_says_all_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ETHOSGEN_FROB", raising=False)
    monkeypatch.setenv("PATH", "/none:/nowhere")
    with pytest.raises(ToolError) as caught:
        TOOL.find()
    for word in (
        "frobnicate (frobs)",
        "/none:/nowhere",
        "get it from frob.example",
        "ETHOSGEN_FROB",
    ):
        assert word in str(caught.value)


def test_a_wrong_variable_is_not_passed_over(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("ETHOSGEN_FROB", "/none/frobnicate")
    with pytest.raises(ToolError, match="ETHOSGEN_FROB names '/none/frobnicate'"):
        TOOL.find()


def test_each_tool_has_a_variable_of_its_own() -> None:
    assert len({tool.variable for tool in TOOLS}) == len(TOOLS)


def test_a_program_says_what_it_says_and_why_it_failed() -> None:
    assert run_command(["sh", "-c", "echo one; echo two >&2"], 10) == "one\ntwo\n"
    with pytest.raises(CommandError, match="'sh' ended with status 3") as caught:
        run_command(["sh", "-c", "echo why; exit 3"], 10)
    assert caught.value.words == "why\n"
    with pytest.raises(CommandError, match=r"cannot start ./none/at/all"):
        run_command(["/none/at/all"], 10)


def is_running(stat: Path) -> bool:
    try:
        return stat.read_text().split()[2] != "Z"
    except OSError:  # it has ended, perhaps while it was read
        return False


@pytest.mark.slow
@pytest.mark.parametrize("deaf", ["", "trap '' TERM; "])
def test_what_does_not_end_is_ended_with_all_that_it_started(
    tmp_path: Path, deaf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build tool's compilers, a flash tool's server: they would hold a port or a core."""
    monkeypatch.setattr("ethosgen.host.tools._GRACE_S", 0.2)
    file = tmp_path / "child"
    with pytest.raises(CommandError, match="'sh' did not end within 1 s"):
        run_command(["sh", "-c", f"{deaf}sleep 60 & echo $! > {file}; wait"], 1)
    child = Path("/proc", file.read_text().strip(), "stat")
    deadline = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < deadline, "the grandchild still runs"
        time.sleep(0.01)
