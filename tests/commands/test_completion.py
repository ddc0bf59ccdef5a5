"""The shell completes commands and the known values of options."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from click.shell_completion import ShellComplete

from ethosgen.backend import accelerators
from ethosgen.board import board_names
from ethosgen.cli import cli
from tests.support.small_models import image_net


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


def test_operators_and_inputs_of_the_network_that_was_typed(tmp_path: Path) -> None:
    network = str(image_net(tmp_path / "net.tflite"))
    codes = completed(["verify", network, "--cpu-ops"])
    assert "CONV_2D" in codes and codes == sorted(codes)
    assert completed(["verify", network, "--cpu-ops"], "CONV_2D,CONV") == ["CONV_2D,CONV_2D"]
    (named,) = completed(["simulate", network, "--shape"])
    assert named.endswith("=")
    assert completed(["verify", str(tmp_path / "missing.tflite"), "--cpu-ops"]) == []
    assert completed(["verify", "--cpu-ops"]) == []


def test_serial_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [SimpleNamespace(device=name) for name in ("/dev/ttyUSB1", "/dev/ttyACM0")]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)
    assert completed(["run", "fw", "--port"], "/dev/ttyU") == ["/dev/ttyUSB1"]
