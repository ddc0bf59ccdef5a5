"""Study files: their schema, their faults, their networks."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.samples.pictures import AS_IT_IS, Preparation
from ethosgen.values.errors import InputError
from ethosgen.values.schedule import Strategy
from ethosgen_sweep.study import (
    DataTable,
    find_networks,
    load_study,
    networks_of,
    study_schema,
)
from tests import ROOT
from tests.support.command_line import commands

GOOD = 'networks = ["*.tflite"]\n'
TABLE = GOOD + '[[data]]\npath = "a.npz"\n'


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


def test_labelled_data_have_the_options_of_accuracy(tmp_path: Path) -> None:
    more = 'mean = 127.5\nstd = [1, 2]\nresize = "crop"\ntop = [3, 3, 1]\n[[data]]\npath = "b"\n'
    first, second = load_study(written(tmp_path, TABLE + more)).data
    assert (first.called, first.tops, first.on) == ("a", (1, 3), ["simulate"])
    assert first.preparation == Preparation((127.5,), (1.0, 2.0), "crop")
    assert (second.called, second.preparation) == ("b", AS_IT_IS)
    options = {option.name for option in commands()["accuracy"].params}
    elsewhere = {"network", "data", "board", "npu", "reading", "results", "tables", "processes"}
    offloading = {"cpu_ops", "offload", "trust_compiler", "check", "oracle", "steps"}
    offloading |= {"strategy", "arena_limit", "stream", "fetch", "allow_fallback", "optimize"}
    not_of_data = elsewhere | offloading | {"shapes", "input_layout", "no_cache", "as_json", "tops"}
    assert options - not_of_data - set(DataTable.model_fields) == set()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("networks = ", "is not TOML"),
        ("networks = []", r"line 1: networks: is empty; name at least one"),
        ("", "networks: it is missing; add it"),
        (GOOD + 'npu = ["all"]', r"line 2: npu: there is no such field \(did you mean 'npus'"),
        (GOOD + 'arena_limits = ["64 apples"]', "line 2: arena_limits.*is not a size"),
        (GOOD + 'strategies = ["speed"]', "line 2: strategies.*'performance' or 'size'"),
        (GOOD + "samples = -1", "line 2: samples: .*greater than or equal to 0"),
        (GOOD + '[data]\npath = "a"', r"line 2: data: .*write \[\[data\]\]"),
        (TABLE + "shard_size = 0", r"line 4: data\[0\].shard_size: .*greater than or equal to 1"),
        (
            TABLE + 'state = "stream"',
            r"line 4: data\[0\].state: a stream cannot be divided",
        ),
        (TABLE + "on = []", r"line 4: data\[0\].on: is empty; name at least one"),
        (TABLE + "mean = [nan]", r"line 4: data\[0\].mean\[0\]: .*finite number"),
        (TABLE + '[[data]]\npath = "b/a.npz"', "line 2: data: two tables are called 'a'"),
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
    paths = find_networks(load_study(path), path)
    assert [network.name for network in paths] == ["c.onnx", "a.tflite", "b.tflite"]
    path = written(tmp_path, 'networks = ["*.pte"]\n')
    with pytest.raises(InputError, match=r"no file fits '\*.pte'"):
        find_networks(load_study(path), path)


def test_data_may_be_for_some_networks(tmp_path: Path) -> None:
    for name in ("a.tflite", "b.tflite", "c.onnx"):
        (tmp_path / name).write_bytes(b"")
    text = TABLE + '[[data]]\npath = "b"\nnetworks = ["b*"]\n[[data]]\npath = "c"\n'
    path = written(tmp_path, text + 'networks = ["c.onnx"]\n')
    study = load_study(path)
    all_, some, stranger = study.data
    assert {network.name for network in networks_of(all_, study, path)} == {"a.tflite", "b.tflite"}
    assert {network.name for network in networks_of(some, study, path)} == {"b.tflite"}
    with pytest.raises(InputError, match=r"data 'c': networks: '.*c.onnx' is none of the study's"):
        networks_of(stranger, study, path)
