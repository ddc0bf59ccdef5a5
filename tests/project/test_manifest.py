"""Manifests: what a project stores of itself, and what is wrong with a file."""

import dataclasses
import json
from pathlib import Path

import pytest

from ethosgen import __version__
from ethosgen.board import load_board
from ethosgen.project import Project, open_project, render, write
from ethosgen.project.manifest import FORMAT
from ethosgen.values.errors import InputError
from ethosgen.values.plan import OffloadMode, OffloadOptions
from ethosgen.values.schedule import Schedule, Strategy
from tests.support.programs import make_program

BOARD = load_board("corstone300")


@pytest.fixture
def project() -> Project:
    return render(make_program(), BOARD)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"format": 2}', "is damaged"),
        ('{"format": "1"}', "is damaged"),
        ('{"format": 1.0, "ethosgen": "0.1.0"}', r"is damaged \(TypeError\)"),
        ('{"format": true, "ethosgen": "0.1.0"}', r"is damaged \(TypeError\)"),
    ],
)
def test_a_damaged_manifest(tmp_path: Path, project: Project, content: str, said: str) -> None:
    write(project, tmp_path / "p")
    (tmp_path / "p" / "model" / "ethosgen.json").write_text(content)
    with pytest.raises(InputError, match=said):
        open_project(tmp_path / "p")


@pytest.mark.parametrize("missing", ["networks", "board", "files"])
def test_a_manifest_that_lacks_a_field(tmp_path: Path, project: Project, missing: str) -> None:
    write(project, tmp_path / "p")
    path = tmp_path / "p" / "model" / "ethosgen.json"
    content = json.loads(path.read_bytes())
    del content[missing]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="is damaged"):
        open_project(tmp_path / "p")


@pytest.mark.parametrize("number", [0, FORMAT + 1])
def test_another_format_is_one_sentence(tmp_path: Path, project: Project, number: int) -> None:
    """It names the ethosgen that reads it."""
    write(project, tmp_path / "p")
    path = tmp_path / "p" / "model" / "ethosgen.json"
    path.write_text(json.dumps({"format": number, "ethosgen": "9.1.0", "unknown": 1}))
    with pytest.raises(InputError, match=r"use ethosgen 9\.1\.0, .* or generate") as refused:
        open_project(tmp_path / "p")
    assert f"this ethosgen {__version__} reads {FORMAT};" in str(refused.value)
    path.write_text(json.dumps({"format": number, "ethosgen": __version__}))
    with pytest.raises(InputError, match=rf"reads {FORMAT}; generate the project again elsewhere"):
        open_project(tmp_path / "p")


@pytest.mark.parametrize(
    "options",
    [
        OffloadOptions(),
        OffloadOptions(
            ("ADD", "1:CONV_2D"),
            OffloadMode.AUTO,
            trust_compiler=True,
            check=False,
            oracle="litert",
            steps=1.0,
            schedule=Schedule(Strategy.SIZE, 1024),
            optimize=False,
        ),
    ],
)
def test_what_was_asked_for_survives(tmp_path: Path, options: OffloadOptions) -> None:
    program = make_program()
    asked = dataclasses.replace(program, plan=dataclasses.replace(program.plan, options=options))
    write(render(asked, BOARD), tmp_path / "p")
    assert open_project(tmp_path / "p").network.options == dataclasses.replace(
        options, allow_fallback=True
    )


def test_what_is_no_project_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an ethosgen project"):
        open_project(tmp_path)
    with pytest.raises(InputError, match="there is no directory"):
        open_project(tmp_path / "none")
