"""The shell completes commands and the known values of options."""

import pytest
from click.shell_completion import ShellComplete

from ethosgen.backend import accelerators
from ethosgen.board import board_names
from ethosgen.cli import cli


def completed(words: list[str], typed: str = "") -> list[str]:
    shell = ShellComplete(cli, {}, "ethosgen", "_ETHOSGEN_COMPLETE")
    return [item.value for item in shell.get_completions(words, typed)]


@pytest.mark.parametrize("command", ["verify", "project", "attach", "pipeline", "compare"])
def test_boards(command: str) -> None:
    assert completed([command, "--board"]) == board_names()
    assert completed([command, "--board"], "corstone31") == ["corstone310", "corstone315"]


def test_a_board_may_be_a_file() -> None:
    shell = ShellComplete(cli, {}, "ethosgen", "_ETHOSGEN_COMPLETE")
    (item,) = shell.get_completions(["verify", "--board"], "./mine")
    assert (item.type, item.value) == ("file", "./mine")


@pytest.mark.parametrize(
    "command", ["verify", "project", "attach", "simulate", "disasm", "place", "compare"]
)
def test_npus(command: str) -> None:
    assert completed([command, "--npu"]) == [*accelerators(), "none"]


def test_targets_and_memory_modes() -> None:
    assert completed(["run", "--on"], "s") == ["ssh", "serial"]
    assert "dedicated_sram" in completed(["verify", "--memory-mode"])
    assert completed([], "verif") == ["verify"]
