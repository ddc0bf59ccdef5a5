"""`ethosgen report`, as a user types it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ethosgen.cli import cli
from ethosgen.values.errors import InputError
from tests.support.needs import needs_qemu
from tests.support.reports import DIGITS

QUICK = (str(DIGITS), "--no-check", "--samples", "1")


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["report", *words], catch_exceptions=False)


def embedded(page: Path) -> object:
    (data,) = re.findall(r'id="report">(.*?)</script>', page.read_text())
    return json.loads(data)


def test_the_page_has_what_json_prints(tmp_path: Path) -> None:
    page, trace, nodes = tmp_path / "r.html", tmp_path / "t.json", tmp_path / "n.json"
    also = ("--perfetto", str(trace), "--model-explorer", str(nodes))
    done = run(*QUICK, "--cpu-ops", "SOFTMAX", "-o", str(page), *also)
    assert done.exit_code == 0
    assert done.stdout.startswith("PASS  ")
    told = json.loads(run(*QUICK, "--cpu-ops", "SOFTMAX", "--json").stdout)
    assert embedded(page) == told
    assert told["command"] == f"ethosgen report {DIGITS} --cpu-ops SOFTMAX --no-check --samples 1"
    assert json.loads(trace.read_text())["otherData"]["command"] == told["command"]
    assert len(json.loads(nodes.read_text())["results"]) == told["subject"]["operators"]


def test_json_alone_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*QUICK, "--npu", "none", "--json").exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_only_our_own_files_are_replaced(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("page.html", "trace.json", "nodes.json")]
    page, trace, nodes = map(str, files)
    words = ("-o", page, "--perfetto", trace, "--model-explorer", nodes)
    assert run(*QUICK, *words).exit_code == 0
    assert run(*QUICK, *words).exit_code == 0  # these are ours
    for file in files:
        ours = file.read_text()
        file.write_text("mine")
        with pytest.raises(InputError, match="did not write it"):
            run(*QUICK, *words)
        assert file.read_text() == "mine"
        file.write_text(ours)
    Path(page).write_text("mine")
    assert run(*QUICK, *words, "--force").exit_code == 0
    assert Path(page).read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((str(DIGITS), str(DIGITS)), "one network but got 2"),
        ((str(DIGITS), "--on", "qemu"), "name it with --board"),
        ((str(DIGITS), "-o", "x", "--perfetto", "x"), "the same file"),
        (("nowhere.tflite",), "nowhere.tflite"),
        ((str(DIGITS), "--npu", "ethos-u55-12"), "unknown NPU"),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(
    words: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=told) as caught:
        run(*words)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@needs_qemu
def test_with_a_board_it_measures(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    words = ("--board", "corstone300", "--cpu-ops", "MAX_POOL_2D", "--samples", "2", "--no-check")
    done = run(str(DIGITS), *words, "-o", str(page), "--json")
    assert done.exit_code == 0
    told = json.loads(done.stdout)
    assert embedded(page) == told
    costs = told["costs"]
    unit = "cycles" if costs["cpu_time"]["counted"] else "instructions"  # by llvm-mca
    assert (costs["cpu_kind"], costs["cpu_unit"]) == ("measured", unit)
    assert costs["flash_bytes"]["total"] > costs["weights_bytes"] > 0
    assert costs["ram_bytes"]["arena"] >= costs["arena_bytes"]
    assert told["setting"]["on"] == "qemu" and told["verdict"]["verdict"] == "PASS"
    (pool,) = [x for x in told["layers"] if x["code"] == "MAX_POOL_2D"]
    assert pool["on"] == "cpu" and pool["cpu"] > 100
