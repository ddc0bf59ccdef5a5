"""Man pages: one for each command, with the text of its help."""

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.commands.help import GROUPS
from tests.support.command_line import commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("man") / "man1"
    answer = CliRunner().invoke(cli, ["man", "-o", str(path)])
    assert answer.exit_code == 0 and f"man -M {path.parent}" in answer.output
    return path


def test_each_command_has_a_page(folder: Path) -> None:
    expected = {"ethosgen"}
    for name, command in commands().items():
        below = command.commands if isinstance(command, click.Group) else ()
        names = {f"ethosgen-{name}", *(f"ethosgen-{name}-{word}" for word in below)}
        expected |= set() if command.hidden else names
    assert {path.stem for path in folder.iterdir()} == expected


def test_a_page_has_the_options_in_groups_and_the_examples_as_written(folder: Path) -> None:
    page = (folder / "ethosgen-verify.1").read_text()
    titles = [title for title in GROUPS if f"\n.SH {title.upper()}\n" in page]
    assert len(titles) > 3
    assert re.search(r"\.nf\n *ethosgen verify MODEL\.tflite .*corstone300\n", page)
    for option in ("board", "sram\\-limit", "samples"):
        assert f"\n.B \\-\\-{option}" in page


def test_a_page_of_others_is_left_and_an_own_one_replaced(tmp_path: Path) -> None:
    (tmp_path / "ethosgen-run.1").write_text("mine\n")
    for _ in range(2):
        answer = CliRunner().invoke(cli, ["man", "-o", str(tmp_path)])
        assert answer.exit_code == 0 and "so it stays" in answer.output
    assert (tmp_path / "ethosgen-run.1").read_text() == "mine\n"
    assert (tmp_path / "ethosgen-verify.1").read_text().startswith(".\\")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_finds_no_fault(folder: Path) -> None:
    pages = sorted(map(str, folder.iterdir()))
    command = ["groff", "-man", "-Tutf8", "-K", "utf8", "-ww", "-z", *pages]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stderr == ""
