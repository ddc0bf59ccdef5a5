"""`ethosgen diff`: answers and projects, as tables, Markdown and JSON."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.studies.differences import FigureChange
from ethosgen.values.errors import InputError
from tests.support.small_models import image_net


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words, catch_exceptions=False)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The reports of a network on an NPU, and on the CPU alone, without firmware."""
    folder = tmp_path_factory.mktemp("diff")
    network = str(image_net(folder / "net.tflite"))
    for npu in ("ethos-u55-128", "none"):
        done = run("report", network, "--npu", npu, "--samples", "1", "--json")
        (folder / f"{npu}.json").write_text(done.stdout)
    return folder / "ethos-u55-128.json", folder / "none.json"


def test_figures_and_moved_operators_are_listed(answers: tuple[Path, Path]) -> None:
    before, after = (json.loads(path.read_text()) for path in answers)
    (difference,) = json.loads(run("diff", *map(str, answers), "--json").stdout)
    arenas = [answer["costs"]["arena_bytes"] for answer in (before, after)]
    assert difference["figures"]["arena, B"] == arenas
    moved = {name: (a, b) for name, a, b in difference["moved"]}
    on_npu = [x for x in before["layers"] if x["on"] == "npu"]
    assert moved and len(moved) >= len([x for x in on_npu if x["macs"]])
    assert all(places[0] != places[1] for places in moved.values())
    text = run("diff", *map(str, answers)).stdout
    assert text.startswith("net: PASS\n") and f"{arenas[0]:,}" in text and "npu to cpu" in text


def test_the_npus_cycles_are_exact_and_a_times_change_has_no_more_digits_than_it(
    answers: tuple[Path, Path],
) -> None:
    before, _ = (json.loads(path.read_text()) for path in answers)
    (difference,) = json.loads(run("diff", *map(str, answers), "--json").stdout)
    assert difference["figures"]["NPU, cycles"] == [before["costs"]["npu_cycles"], None]
    changes = [FigureChange(title, 0.3, 0.21).text() for title in ("time, ms", "arena, B")]
    assert changes == ["-30 %", "-30.0 %"]
    assert FigureChange("RAM, B", 2, 40).text() == "x 20"
    assert FigureChange("RAM, B", None, 40).text() == ""


def test_markdown_has_the_same_figures(answers: tuple[Path, Path]) -> None:
    text = run("diff", *map(str, answers), "--markdown").stdout
    assert text.startswith("### net: PASS") and "| arena, B |" in text


def test_equal_answers_have_no_moves(answers: tuple[Path, Path]) -> None:
    (difference,) = json.loads(run("diff", str(answers[0]), str(answers[0]), "--json").stdout)
    assert difference["moved"] == [] and all(a == b for a, b in difference["figures"].values())


def test_a_project_and_an_answer_are_compared_by_what_both_have(
    answers: tuple[Path, Path], tmp_path: Path
) -> None:
    network, folder = answers[0].parent / "net.tflite", tmp_path / "project"
    run("project", str(network), "--board", "corstone300", "-o", str(folder), "--no-check")
    text = run("diff", str(folder), str(answers[1])).stdout
    assert text.startswith("net: not checked, then PASS")


@pytest.mark.parametrize("text", ["[]", "{}", "no JSON", '{"headline": 1}'])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"is not an answer of verify|as JSON"):
        run("diff", str(path), str(path))
    with pytest.raises(InputError, match="is not a project"):
        run("diff", str(tmp_path), str(path))
