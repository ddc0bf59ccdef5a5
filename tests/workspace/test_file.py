"""`ethosgen.toml`: found, read, refused with the line and the field."""

from pathlib import Path

import pytest

from ethosgen.values.errors import InputError
from ethosgen.workspace.file import (
    FILE,
    find_workspace,
    initial_text,
    load_workspace,
    workspace_schema,
)
from tests import ROOT


def written(folder: Path, text: str) -> Path:
    path = folder / FILE
    path.write_text(text)
    return path


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    outer = written(tmp_path, "")
    assert find_workspace(inner) == outer
    own = written(inner, "")
    assert find_workspace(inner) == own


def test_what_init_writes_can_be_read(tmp_path: Path) -> None:
    text = initial_text(["a.tflite", "b.tflite"], "corstone300", None, "test.npz")
    workspace = load_workspace(written(tmp_path, text))
    assert workspace.networks == ["a.tflite", "b.tflite"] and workspace.board == "corstone300"
    assert workspace.npu is None and workspace.project == "firmware"
    assert workspace.accuracy is not None and workspace.accuracy.data == "test.npz"
    assert workspace.budget.ms is None


def test_the_comments_of_a_new_file_are_valid_too(tmp_path: Path) -> None:
    lines = initial_text(["a.tflite"], None, None, None).splitlines()
    told = [line.removeprefix("# ") for line in lines if " = " in line or "[accuracy]" in line]
    heads = {"ms =": "[budget]", "sram-limit": "[options]"}
    text = []
    for line in told:
        text += [heads[key] for key in heads if line.startswith(key)]
        text.append(line)
    workspace = load_workspace(written(tmp_path, "\n".join(text)))
    assert workspace.budget.ram == 256 << 10 and workspace.budget.accuracy == 0.9
    assert workspace.options == {"sram-limit": "256KiB"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("networks = []", "line 1: networks: it is empty; name at least one"),
        ("board = 'x'", "networks: it is missing; add it"),
        ("networks = ['a']\n[budget]\nms = 0", r"line 3: budget\.ms: it must be greater than 0"),
        ("networks = ['a']\n[budget]\nram = '1 KB'", "'1 KB' is not a size; write bytes, KiB"),
        ("networks = ['a']\n[budget]\naccuracy = 90", "budget.accuracy: it must be less than"),
        ("networks = ['a']\nbord = 'x'", r"there is no such field \(did you mean 'board'\?\)"),
        ("networks = ['a'", "is not TOML"),
        ("networks = ['a']\n[accuracy]\nlabels = 'y'", "data: it is missing"),
    ],
)
def test_a_fault_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_workspace(written(tmp_path, text))


def test_the_committed_schema_is_the_models() -> None:
    committed = (ROOT / "docs" / "ethosgen.schema.json").read_text()
    assert committed == workspace_schema(), (
        "run: ethosgen init --schema > docs/ethosgen.schema.json"
    )
