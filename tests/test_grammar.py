"""Counted nouns, names that somebody meant, and paths in suggested commands."""

import subprocess
import sys
from pathlib import Path

import pytest

from ethosgen.accelerator import find_accelerator
from ethosgen.board import load_board
from ethosgen.commands.wording import plan_lines
from ethosgen.errors import InputError
from ethosgen.grammar import counted, nearest
from ethosgen.plan import PlanSummary
from networks import Network


def test_one_is_singular() -> None:
    assert [counted(n, "operator") for n in (0, 1, 1200)] == [
        "0 operators", "1 operator", "1,200 operators",
    ]  # fmt: skip
    (head,) = plan_lines(PlanSummary("ethos-u55-128", 1, 1, (), 100, 10))
    assert "1 operator in 1 partition, 0 on the CPU" in head


def test_the_name_that_was_meant_is_suggested() -> None:
    with pytest.raises(InputError, match=r"did you mean 'ethos-u55-128'\?"):
        find_accelerator("ethos-u55-12")
    with pytest.raises(InputError, match=r"did you mean 'corstone300'\?"):
        load_board("corestone300")
    assert nearest("mars", ["qemu", "fvp"]) == ""


def test_a_suggested_command_quotes_its_path(tmp_path: Path) -> None:
    net, place = Network("net"), tmp_path / "my firmware"
    net.relu(net.input((1, 4)))
    (tmp_path / "net.tflite").write_bytes(net.build())
    command = ["project", tmp_path / "net.tflite", "--board", "corstone300", "-o", place]
    done = subprocess.run(
        [sys.executable, "-m", "ethosgen", *map(str, command)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"ethosgen build '{place}'" in done.stderr
