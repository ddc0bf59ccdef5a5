"""The terms of every file, here and in projects, by REUSE's own tool."""

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from reuse.cli.main import main as reuse

from ethosgen import flow
from ethosgen.project import Project, write
from ethosgen.project.licences import NO_CLAIM, OURS, licence_notes, licence_of
from ethosgen.values.recipe import Recipe
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.programs import make_program
from tests.support.project_kinds import projects

KINDS = tuple(projects())


def lint(folder: Path) -> None:
    """Fail with what `reuse lint` says of a folder, unless it complies."""
    done = CliRunner().invoke(reuse, ["--no-multiprocessing", "--root", str(folder), "lint"])
    assert done.exit_code == 0, done.output
    assert "Congratulations" in done.output


def test_every_file_of_this_repository_has_its_terms() -> None:
    lint(ROOT)


@pytest.mark.parametrize("folder", ["templates/kernels", "templates/ethosu/model", "zephyr_app"])
def test_what_is_copied_says_its_terms_itself(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h", ".py")]
    assert len(files) > 5
    for path in files:
        assert licence_of(path.name, path.read_bytes(), ()) == OURS, path


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_project_has_its_terms(kind: str, tmp_path: Path) -> None:
    write(projects()[kind], tmp_path / "firmware")
    lint(tmp_path / "firmware")


def test_the_library_alone_has_its_terms(tmp_path: Path) -> None:
    write(projects()["library"], tmp_path / "firmware")
    lint(tmp_path / "firmware" / "model")


def test_a_file_without_terms_is_found(tmp_path: Path) -> None:
    write(projects()["library"], tmp_path / "firmware")
    (tmp_path / "firmware" / "mine.c").write_text("int mine;\n")
    with pytest.raises(AssertionError, match=r"mine\.c"):
        lint(tmp_path / "firmware")


def terms(project: Project, path: str) -> str:
    """Return the identifier in a file."""
    # REUSE-IgnoreStart
    (identifier,) = re.findall(r"SPDX-License-Identifier: (\S+)", project.files[path].decode())
    # REUSE-IgnoreEnd
    return str(identifier)


def test_what_derives_from_the_network_alone_is_not_claimed() -> None:
    project = projects()["bare metal"]
    for file in ("graph.c", "graph.h", "weights.c", "commands.c"):
        assert terms(project, f"model/plus_one_{file}") == NO_CLAIM
    for file in ("model/plus_one.c", "model/plus_one.h", "model/ethosgen_npu.h", "app/main.c"):
        assert terms(project, file) == OURS
    notes = tomllib.loads(project.files["model/REUSE.toml"].decode())["annotations"]
    (own,) = [note for note in notes if note["SPDX-License-Identifier"] == NO_CLAIM]
    assert own["path"] == ["plus_one.tflite"]


def test_the_licence_names_the_terms() -> None:
    text = projects()["library"].files["model/LICENSE"].decode()
    assert "plus_one and plus_two" in text.splitlines()[0]
    assert OURS in text and NO_CLAIM in text
    assert "claim no right" in text


@pytest.mark.parametrize("npu", ["ethos-u55-128", "none"])
def test_a_real_network_s_project_has_its_terms(npu: str, tmp_path: Path) -> None:
    """Its C comes from TVM, and it has kernels."""
    recipe = Recipe((ROOT / "demo" / "digits_int8.tflite",), "corstone300", npu=npu)
    flow.create_project(recipe, directory=tmp_path / "firmware", watch=Watch())
    lint(tmp_path / "firmware")


def test_an_accelerators_files_keep_their_terms(tmp_path: Path) -> None:
    # REUSE-IgnoreStart
    files = {"mine.c": b"int mine;\n", "ours.h": b"/* SPDX-License-Identifier: MIT */\n"}
    # REUSE-IgnoreEnd
    notes = licence_notes([make_program()], files)
    assert licence_of("mine.c", files["mine.c"], notes) == NO_CLAIM
    assert licence_of("ours.h", files["ours.h"], notes) == "MIT"
    assert licence_of("other.c", b"int other;\n", notes) is None
