"""The file that keeps outputs, so that a stopped run goes on."""

from pathlib import Path

import numpy as np
import pytest

from ethosgen.samples.results import Results
from ethosgen.values.errors import InputError
from ethosgen.values.network import Tensor

SCORES = Tensor(0, "scores", (1, 2), "int8")
FLOATS = Tensor(1, "floats", (2,), "float32")
OWN = {"network": "abc", "data": "def"}


def results(path: Path, tensor: Tensor = SCORES, **changes: str) -> Results:
    return Results(path, OWN | changes, [tensor], 3)


def write(path: Path) -> None:
    with results(path) as file:
        file.add("simulate", 0, {"scores": np.array([[1, -2]], np.int8)})
        file.add("simulate", 2, {"scores": np.array([[3, 4]], np.int8)})
        file.add("qemu", 0, {"scores": np.array([[5, 6]], np.int8)})


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    write(tmp_path / "r.jsonl")
    with results(tmp_path / "r.jsonl") as file:
        assert {on: sorted(samples) for on, samples in file.kept.items()} == {
            "simulate": [0, 2],
            "qemu": [0],
        }
        kept = file.kept["simulate"][0]["scores"]
    assert (kept.dtype, kept.tolist()) == (np.int8, [[1, -2]])


def test_floats_come_back_bit_for_bit(tmp_path: Path) -> None:
    values = np.array([0.1, np.nan], np.float32)
    with results(tmp_path / "r.jsonl", FLOATS) as file:
        file.add("simulate", 1, {"floats": values})
    with results(tmp_path / "r.jsonl", FLOATS) as file:
        assert file.kept["simulate"][1]["floats"].tobytes() == values.tobytes()


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "r.jsonl"
    write(path)
    path.write_bytes(path.read_bytes()[:-cut])
    with results(path) as file:
        assert "qemu" not in file.kept
        assert sorted(file.kept["simulate"]) == [0, 2]
        file.add("qemu", 1, {"scores": np.array([[7, 8]], np.int8)})
    with results(path) as file:
        assert file.kept["qemu"][1]["scores"].tolist() == [[7, 8]]


def test_only_one_run_has_the_file(tmp_path: Path) -> None:
    with (
        results(tmp_path / "r.jsonl"),
        pytest.raises(InputError, match="is in use by another run"),
        results(tmp_path / "r.jsonl"),
    ):
        pass


@pytest.mark.parametrize("key", OWN)
def test_the_file_of_another_run_is_left_alone(tmp_path: Path, key: str) -> None:
    path = tmp_path / "r.jsonl"
    write(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"another run, whose {key} differs"):
        results(path, **{key: "other"}).__enter__()
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["my notes\n", "no line", '{"kind": "else"}\n', "[1]\n"])
def test_a_file_of_another_kind_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="is not a results file"):
        results(path).__enter__()
    assert path.read_text() == text


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "[]",
        '{"on": "simulate", "sample": 3, "outputs": {"scores": [1, 2]}}',
        '{"on": "simulate", "sample": 1, "outputs": {"scores": [1]}}',
        '{"on": "simulate", "sample": 1, "outputs": {"scores": [1, 400]}}',
        '{"on": "simulate", "sample": 1, "outputs": {}}',
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "r.jsonl"
    write(path)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(InputError, match="line 5: not a sample's outputs"):
        results(path).__enter__()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        results(tmp_path / "none" / "r.jsonl").__enter__()
