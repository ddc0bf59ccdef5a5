"""`ethosgen place`: its report, its files, and a sentence for each kind of bad request."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pymetis  # noqa: F401 - the tests are skipped without it
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.flow.planning import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.host import extras
from ethosgen.stages.task_graph import read_graph
from ethosgen.values.errors import EthosgenError, InputError, ToolError, UnsupportedError
from ethosgen.values.watch import Watch
from tests import ROOT
from tests.support.needs import needs_extra
from tests.support.networks import NetworkBuilder
from tests.support.task_graphs import graph_json, stages_of

GRAPH = graph_json(
    {"in": 4000, "left": 9000, "right": 1000, "out": 500},
    {("in", "left"): 512, ("in", "right"): 256, ("left", "out"): 64, ("right", "out"): 64},
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with graph.json and net.tflite."""
    monkeypatch.chdir(tmp_path)
    Path("graph.json").write_text(json.dumps(GRAPH))
    net = NetworkBuilder("net")
    tensor = net.input((1, 16, 16, 4))
    for _ in range(4):
        tensor = net.relu(tensor)
    Path("net.tflite").write_bytes(net.build())
    return tmp_path


def invoke(*words: str) -> Any:
    result = CliRunner().invoke(cli, ["place", *words], catch_exceptions=True)
    if isinstance(result.exception, EthosgenError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_report_says_what_limits_and_the_next_command(work: Path) -> None:
    said = invoke("graph.json", "--mesh", "6x5")
    lines = said.stdout.splitlines()
    assert lines[0].startswith("small: 4 tasks on ")
    (throughput,) = (line for line in lines if line.startswith("  throughput"))
    assert re.search(
        r"[\d,]+ per second simulated, [\d,]+ at best, limited by task '\w+'", throughput
    )
    assert any(
        re.match(r"  links +the hottest, \(\d, \d\) → \(\d, \d\), is busy", x) for x in lines
    )
    assert any("ms on average" in line or "µs on average" in line for line in lines)
    assert "place graph.json --mesh 6x5 -o placement.json --plot placement.svg" in said.stderr
    assert files(work) == ["graph.json", "net.tflite"]


@needs_extra("plot")
def test_a_placement_that_comes_in_again_is_judged_alike(work: Path) -> None:
    written = invoke("graph.json", "--mesh", "6x5", "-o", "p.json", "--plot", "p.svg", "--json")
    facts = json.loads(written.stdout)
    other = invoke("graph.json", "--mesh", "6x5", "--mapping", "p.json", "-o", "q.json", "--json")
    assert json.loads(other.stdout) == facts
    assert Path("p.json").read_text() == Path("q.json").read_text()
    assert ElementTree.parse("p.svg").getroot().tag.endswith("}svg")
    assert files(work) == ["graph.json", "net.tflite", "p.json", "p.svg", "q.json"]
    placed = json.loads(Path("p.json").read_text())
    replicas = {task["name"]: task["replicas"] for task in facts["tasks"]}
    assert {name: len(places) for name, places in placed["tasks"].items()} == replicas
    assert sum(replicas.values()) == facts["used_elements"] <= 30
    assert facts["samples_per_s"] <= facts["bound"]["samples_per_s"] * 1.01


def test_a_number_of_replicas_is_obeyed(work: Path) -> None:
    facts = json.loads(invoke("graph.json", "--mesh", "6x5", "--replicas", "3", "--json").stdout)
    assert {task["replicas"] for task in facts["tasks"]} == {3}
    assert facts["lanes"] == 3


def test_a_network_is_placed_stage_by_stage(work: Path) -> None:
    said = invoke("net.tflite", "--mesh", "4x2", "--stages", "2", "--graph", "out.json", "--json")
    facts = json.loads(said.stdout)
    assert [task["name"] for task in facts["tasks"]] == ["0-1 RELU to RELU", "2-3 RELU to RELU"]
    graph = read_graph(Path("out.json"))
    assert [(edge.sender, edge.receiver, edge.bytes) for edge in graph.edges] == [
        (graph.tasks[0].name, graph.tasks[1].name, 16 * 16 * 4)
    ]
    assert graph.tasks[0].cycles == graph.tasks[1].cycles
    again = invoke("out.json", "--mesh", "4x2", "--json")
    assert json.loads(again.stdout) == facts


def test_a_networks_stages_keep_its_cycles_weights_and_tensors(tmp_path: Path) -> None:
    net = NetworkBuilder("net")
    first = net.relu(net.input((1, 8, 8, 4)))
    second = net.relu(first)
    net.add(first, second)
    (tmp_path / "net.tflite").write_bytes(net.build())
    network = read(tmp_path / "net.tflite", None, Watch())
    whole = stages_of(network, None, None)
    assert [task.name for task in whole.tasks] == ["0 RELU", "1 RELU", "2 ADD"]
    assert [(e.sender[0], e.receiver[0], e.bytes) for e in whole.edges] == [
        ("0", "1", 256), ("0", "2", 256), ("1", "2", 256),
    ]  # fmt: skip
    assert [(task.input_bytes, task.output_bytes) for task in whole.tasks] == [
        (256, 0), (0, 0), (0, 256),
    ]  # fmt: skip
    single = stages_of(network, 1, None)
    assert single.edges == ()
    assert (single.tasks[0].input_bytes, single.tasks[0].output_bytes) == (256, 256)
    assert single.tasks[0].cycles == sum(task.cycles for task in whole.tasks)
    assert single.tasks[0].memory_bytes == 512, "both tensors are alive at once"


def test_an_npu_changes_the_cycles() -> None:
    network = read(ROOT / "demo" / "digits_int8.tflite", None, Watch())
    cpu = sum(task.cycles for task in stages_of(network, 2, None).tasks)
    npu = sum(task.cycles for task in stages_of(network, 2, "ethos-u55-256").tasks)
    assert npu < cpu


@pytest.mark.parametrize("name", ["graph", "mapping", "elements"])
def test_a_schema_is_printed(name: str) -> None:
    schema = json.loads(invoke("--schema", name).stdout)
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["graph.json"], "the size of the mesh is missing; pass --mesh, such as 192x38"),
        (["graph.json", "--mesh", "6by5"], "--mesh '6by5' is not a width and a height"),
        (["graph.json", "--mesh", "1x3"], "has 4 tasks, but the 1x3 mesh has only 3 working elem"),
        (["graph.json", "--mesh", "6x5", "--replicas", "0"], "--replicas '0' is neither auto nor"),
        (["graph.json", "--mesh", "6x5", "--stages", "2"], "--stages is for networks, but 'graph"),
        (["net.tflite", "--mesh", "6x5", "--stages", "5"], "'net' can be cut into at most 4 stages,"
         " so it cannot be cut into 5; pass --stages 4 or fewer"),
        (["net.tflite", "--mesh", "2x1", "--stages", "3"], "3 stages need as many elements, but"),
        (["net.tflite", "--mesh", "6x5", "--npu", "ethos-u99"], "unknown NPU 'ethos-u99'"),
        (["none.json", "--mesh", "6x5"], "cannot read task graph 'none.json': No such file"),
        (["graph.json", "--mesh", "6x5", "--mapping", "graph.json"], "mapping 'graph.json': "),
        (["graph.json", "--mesh", "6x5", "--replicas", "2", "--mapping", "m.json"], "contradicts"),
        (["graph.json", "--mesh", "6x5", "-o", "graph.json"], "would replace what is read from it"),
        (["graph.json", "--mesh", "6x5", "-o", "x.svg", "--plot", "x.svg"], "the same file"),
        (["graph.json", "--mesh", "6x5", "-o", "none/p.json"], "there is no folder 'none'"),
        (["graph.json", "--mesh", "6x5", "--plot", "p.png"], "are .svg files or .html pages"),
    ],
)  # fmt: skip
def test_a_bad_request_is_one_sentence_and_writes_nothing(
    work: Path, words: list[str], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        invoke(*words)
    assert "\n" not in str(caught.value)
    assert files(work) == ["graph.json", "net.tflite"]


@needs_extra("plot")
def test_a_bad_mapping_writes_no_picture(work: Path) -> None:
    Path("m.json").write_text('{"schema_version": 1, "mesh": {"width": 6, "height": 5}, '
                              '"tasks": {"in": [[0, 0], [0, 0]]}}')  # fmt: skip
    with pytest.raises(InputError, match=r"m\.json': tasks\.in\[1\]: element \(0, 0\) is also"):
        invoke("graph.json", "--mesh", "6x5", "--mapping", "m.json", "--plot", "p.svg")
    assert not Path("p.svg").exists()


def test_a_missing_package_is_named(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "is_here", lambda name: False)
    with pytest.raises(ToolError, match=r"placing needs pymetis and simpy; .*\[place\]'"):
        invoke("graph.json", "--mesh", "6x5")


def test_a_picture_without_its_package_is_refused_before_the_work(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "is_here", lambda name: name != "matplotlib")
    with pytest.raises(ToolError, match=r"a picture needs matplotlib; .*, or leave out --plot"):
        invoke("graph.json", "--mesh", "6x5", "-o", "p.json", "--plot", "p.svg")
    assert files(work) == ["graph.json", "net.tflite"]


def test_an_operator_without_an_estimate_is_named(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ethosgen.aot.cpu_cycles", lambda operator, graph: None)
    with pytest.raises(UnsupportedError, match="no estimate of the cycles of RELU, operator 0"):
        invoke("net.tflite", "--mesh", "6x5")


def test_what_only_moves_bytes_is_no_stage_of_its_own() -> None:
    net = NetworkBuilder("padded", seed=1)
    x = net.pad(net.conv2d(net.input((1, 8, 8, 3)), 4, (3, 3)), ((0, 0), (1, 1), (1, 1), (0, 0)))
    x = net.reshape(net.conv2d(x, 4, (3, 3), padding="VALID"), (1, 256))
    network = parse_network(net.build(x), "padded")
    assert [task.operators for task in stages_of(network, None, None).tasks] == [(0, 0), (1, 3)]
