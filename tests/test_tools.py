"""External programs: found, overridden, missing."""

from pathlib import Path

import pytest

from ethosgen.errors import ToolError
from ethosgen.tools import TOOLS, Tool

TOOL = Tool("frobnicate", "ETHOSGEN_FROB", "frob-tools", "frobs")


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
        "sudo apt-get install -y frob-tools",
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
