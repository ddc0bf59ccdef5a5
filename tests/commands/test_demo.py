"""`ethosgen demo`: the list, a copy, and what to type next."""

import json
import re
from pathlib import Path

import click
import pytest

from ethosgen.cli import cli
from ethosgen.host.demos import DEMOS
from tests.support.command_line import commands, ethosgen


def test_the_list_names_every_demo() -> None:
    done = ethosgen("demo")
    assert [line.split()[0] for line in done.stdout.splitlines()] == [demo.name for demo in DEMOS]
    assert "next: ethosgen demo digits" in done.stderr
    rows = json.loads(ethosgen("demo", "--json").stdout)
    assert [row["name"] for row in rows] == [demo.name for demo in DEMOS]


def test_a_copy_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = ethosgen("demo", "digits")
    assert done.returncode == 0
    assert done.stdout == "digits-demo/digits_int8.tflite\n"
    assert (tmp_path / done.stdout.strip()).is_file()
    assert "  cd digits-demo\n  ethosgen verify digits_int8.tflite" in done.stderr
    answer = json.loads(ethosgen("demo", "kws", "-o", tmp_path / "k", "--json").stdout)
    assert all(Path(path).is_file() for path in answer["files"])
    assert ethosgen("demo", "kw").returncode == 2


def test_the_commands_are_real() -> None:
    assert isinstance(cli, click.Group)
    for line in (line for demo in DEMOS for line in demo.commands if line.startswith("ethosgen ")):
        command = commands()[line.split()[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<= )-[-\w]+", line)) <= known, line
