"""Networks of parts: a file for the usual commands, and firmware with a part on each element."""

import json
from pathlib import Path
from typing import Any

import pymetis  # noqa: F401 - the tests are skipped without it
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.flow.planning import read
from ethosgen.oracle.answers import Question, answer
from ethosgen.samples.drawing import draw_samples
from ethosgen.stages.task_graph import read_graph
from ethosgen.values.errors import EthosgenError, InputError
from ethosgen.values.watch import Watch
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder

PLACED = ["rows.tflite", "--mesh", "4x2", "--elements", "e.toml"]
PARTS = [*PLACED, "--parts", "parts.tflite", "--graph", "g.json"]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with a network and elements that do not hold its first operators."""
    monkeypatch.chdir(tmp_path)
    net = NetworkBuilder("rows", seed=3)
    x = net.conv2d(net.input((1, 24, 16, 3), name="image"), 8, (3, 3), activation="RELU6")
    x = net.max_pool(net.conv2d(x, 8, (3, 3)), (2, 2), (2, 2))
    Path("rows.tflite").write_bytes(net.build(net.conv2d(x, 8, (3, 3), (2, 2))))
    Path("e.toml").write_text("[element]\nmemory_bytes = 8000\n")
    return tmp_path


def invoke(*words: str) -> Any:
    result = CliRunner().invoke(cli, words, catch_exceptions=True)
    if isinstance(result.exception, EthosgenError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_the_file_of_parts_equals_the_network(work: Path) -> None:
    said = invoke("place", *PARTS)
    assert "in 2 parts: 2 by rows (halo 4)" in said.stdout
    whole, parts = (read(Path(name), None, Watch()) for name in ("rows.tflite", "parts.tflite"))
    samples = draw_samples(whole, 6, 1)
    golden, ours = (answer(Question(each, samples, "tflm")) for each in (whole, parts))
    assert not golden.against(ours.outputs).mismatches


def test_the_tasks_name_the_operators_of_the_file(work: Path) -> None:
    invoke("place", *PARTS)
    spans = [task.operators for task in read_graph(Path("g.json")).tasks]
    count = len(read(Path("parts.tflite"), None, Watch()).graph.operators)
    assert [i for span in spans if span for i in range(span[0], span[1] + 1)] == [*range(count)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rows.tflite", "--mesh", "4x2"], "--parts: all operators fit, so there are no parts"),
        ([*PLACED, "--split", "off"], "--parts: --split off cuts none, so there are no parts"),
    ],
)
def test_without_parts_there_is_no_file(work: Path, words: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        invoke("place", *words, "--parts", "parts.tflite")
    assert not Path("parts.tflite").exists()


def test_a_task_graph_has_no_parts(work: Path) -> None:
    invoke("place", *PLACED, "--graph", "g.json")
    with pytest.raises(InputError, match=r"--parts is for networks, but 'g.json' is a task graph"):
        invoke("place", "g.json", "--mesh", "4x2", "--parts", "parts.tflite")


@needs_build
@needs_qemu
def test_firmware_of_parts_equals_the_oracle(work: Path) -> None:
    invoke("place", *PARTS)
    words = ["--task-graph", "g.json", "--topology", "graph", "--npu", "none"]
    invoke("pipeline", "parts.tflite", *words, "--board", "corstone300", "-o", "out")
    invoke("build", "out")
    facts = json.loads(invoke("run", "out", "--json").stdout)
    assert facts["verdict"] == "PASS"
