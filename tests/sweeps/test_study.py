"""Study files: their schema, their faults, their networks."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.sweeps.study import find_networks, load_study, study_schema
from ethosgen.values.errors import InputError
from ethosgen.values.schedule import Strategy
from tests import ROOT

GOOD = 'networks = ["*.tflite"]\n'


def written(folder: Path, text: str) -> Path:
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"


def test_the_schema_for_editors_is_current() -> None:
    said = CliRunner().invoke(cli, ["sweep", "--schema"])
    assert said.output == study_schema()
    committed = (ROOT / "docs" / "sweep.schema.json").read_text()
    assert committed == said.output, "run: ethosgen sweep --schema > docs/sweep.schema.json"


def test_every_field_of_a_study_is_documented() -> None:
    schema = json.loads(study_schema())
    page = (ROOT / "docs" / "sweep.md").read_text()
    for title, table in {"study": schema, **schema["$defs"]}.items():
        for name, field in table.get("properties", {}).items():
            assert field.get("description"), f"{title}.{name}"
            assert f"`{name}`" in page, f"docs/sweep.md lacks {title}.{name}"


def test_sizes_are_bytes_and_lists_are_read(tmp_path: Path) -> None:
    study = load_study(
        written(tmp_path, GOOD + 'arena_limits = [4096, "64KiB"]\nstrategies = ["size"]\n')
    )
    assert study.arena_limits == [4096, 65536]
    assert study.strategies == [Strategy.SIZE]
    assert study.boards == ["corstone300"] and study.npus == ["all"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("networks = ", "is not TOML"),
        ("networks = []", r"line 1: networks: is empty; name at least one"),
        ("", "networks: Field required"),
        (GOOD + 'npu = ["all"]', "line 2: npu: Extra inputs are not permitted"),
        (GOOD + 'arena_limits = ["64 apples"]', "line 2: arena_limits.*is not a size"),
        (GOOD + 'strategies = ["speed"]', "line 2: strategies.*'performance' or 'size'"),
        (GOOD + "samples = -1", "line 2: samples: .*greater than or equal to 0"),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        load_study(written(tmp_path, text))
    assert "study.toml" in str(raised.value) and "\n" not in str(raised.value)


def test_a_study_that_is_missing_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read study"):
        load_study(tmp_path / "none.toml")


def test_patterns_are_relative_to_the_study(tmp_path: Path) -> None:
    for name in ("b.tflite", "a.tflite", "c.onnx"):
        (tmp_path / name).write_bytes(b"")
    path = written(tmp_path, 'networks = ["c.onnx", "*.tflite", "a.tflite"]\n')
    found = find_networks(load_study(path), path)
    assert [one.name for one in found] == ["c.onnx", "a.tflite", "b.tflite"]
    path = written(tmp_path, 'networks = ["*.pte"]\n')
    with pytest.raises(InputError, match=r"no file fits '\*.pte'"):
        find_networks(load_study(path), path)
