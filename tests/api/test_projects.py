"""Projects in Python: what reaches a board or a computer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ethosgen
from ethosgen import flow
from ethosgen.targets import SerialLine, SshHost
from tests import ROOT

DIGITS = ROOT / "demo" / "digits_int8.tflite"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("api") / "p"
    return ethosgen.create_project(DIGITS, directory=folder, board="corstone300").directory


@pytest.mark.parametrize(
    ("arguments", "on", "line"),
    [
        ({}, None, None),
        ({"on": "fvp"}, "fvp", None),
        ({"port": "/dev/ttyACM0"}, "serial", SerialLine("/dev/ttyACM0", None, None)),
        (
            {"on": "serial", "port": "loop://", "baud": 9600, "reset": "dtr"},
            "serial",
            SerialLine("loop://", 9600, "dtr"),
        ),
        ({"host": "me@there"}, "ssh", SshHost("me@there")),
    ],
    ids=str,
)
def test_a_run_reaches_a_board_or_a_computer(
    project: Path, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], on: str, line: Any
) -> None:
    asked = []

    def run(_project: Path, options: flow.RunOptions, **more: Any) -> Any:
        asked.append((more["on"], options.line))
        return SimpleNamespace(passed=True)

    monkeypatch.setattr(flow, "run_project", run)
    ethosgen.run_project(project, **arguments)
    assert asked == [(on, line)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"baud": 9600}, "name it with port"),
        ({"on": "qemu", "port": "loop://"}, "port is for on='serial', not 'qemu'"),
        ({"port": "loop://", "host": "me@there"}, "excludes port"),
        ({"port": "loop://", "reset": "twice"}, "not 'twice'"),
    ],
    ids=str,
)
def test_contradictions_are_one_sentence(
    project: Path, arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ethosgen.EthosgenError, match=words):
        ethosgen.run_project(project, **arguments)


def test_only_what_was_built_for_a_board_is_flashed(project: Path) -> None:
    with pytest.raises(ethosgen.EthosgenError, match="was not built for serial yet"):
        ethosgen.flash_project(project)
