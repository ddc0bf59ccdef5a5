"""Networks larger than an element's memory: parts of operators, their bytes, and the report."""

import json
from pathlib import Path
from typing import Any

import pymetis  # noqa: F401 - the tests are skipped without it
import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.splitting.means import CostWeights
from ethosgen.stages.task_graph import TaskGraph, read_graph
from ethosgen.values.errors import CapacityError, EthosgenError
from ethosgen.values.watch import Watch
from ethosgen_place.bound import bound_of
from ethosgen_place.buffers import base_bytes
from ethosgen_place.cutting import CutSearch
from ethosgen_place.layout import Placement
from ethosgen_place.placer import place
from ethosgen_place.splitting import NetworkSplitter
from ethosgen_place.system import Mesh, MeshElement, MeshSystem
from ethosgen_place.tasks import estimated_cycles, starts_of
from tests.support.networks import NetworkBuilder

MEMORY = 12_000


def network_bytes() -> bytes:
    """Return a network whose second layer has 24 KiB of outputs."""
    net = NetworkBuilder("large", seed=3)
    x = net.conv2d(net.input((1, 32, 32, 3), name="image"), 24, (3, 3), activation="RELU6")
    x = net.depthwise(x, (3, 3), stride=(2, 2))
    x = net.conv2d(x, 8, (1, 1))
    return net.build(net.fully_connected(net.reshape(x, (1, 2048)), 10))


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with large.tflite and small.toml."""
    monkeypatch.chdir(tmp_path)
    Path("large.tflite").write_bytes(network_bytes())
    Path("small.toml").write_text(f"[element]\nmemory_bytes = {MEMORY}\n")
    return tmp_path


def invoke(*words: str) -> Any:
    result = CliRunner().invoke(cli, ["place", *words], catch_exceptions=True)
    if isinstance(result.exception, EthosgenError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def system(memory: int = MEMORY) -> MeshSystem:
    return MeshSystem(mesh=Mesh(width=16, height=8), element=MeshElement(memory_bytes=memory))


def test_operators_that_do_not_fit_are_cut(work: Path) -> None:
    said = invoke("large.tflite", "--mesh", "16x8", "--elements", "small.toml", "--graph", "g.json")
    lines = [line for line in said.stdout.splitlines() if line.startswith("  cut ")]
    assert any("by rows (halo " in line for line in lines), said.stdout
    graph = read_graph(Path("g.json"))
    assert max(base_bytes(graph, task) for task in range(len(graph.tasks))) <= MEMORY
    assert sum(task.output_bytes for task in graph.tasks) == 10
    again = invoke("g.json", "--mesh", "16x8", "--elements", "small.toml", "--json")
    assert json.loads(again.stdout)["cuts"] == []


def test_the_simulation_never_exceeds_the_bound(work: Path) -> None:
    words = "large.tflite", "--mesh", "16x8", "--elements", "small.toml", "--json"
    facts = json.loads(invoke(*words).stdout)
    assert facts["cuts"]
    assert facts["samples_per_s"] <= facts["bound"]["samples_per_s"] * (1 + 1e-9)


def test_off_refuses_what_does_not_fit(work: Path) -> None:
    with pytest.raises(CapacityError, match="split it, or give the elements more"):
        invoke("large.tflite", "--mesh", "16x8", "--elements", "small.toml", "--split", "off")


def test_what_fits_is_not_cut(work: Path) -> None:
    facts = json.loads(invoke("large.tflite", "--mesh", "16x8", "--json").stdout)
    assert facts["cuts"] == []
    assert [task["name"][0] for task in facts["tasks"]] == ["0", "1", "2", "3"]


def test_always_cuts_what_can_be_cut(work: Path) -> None:
    facts = json.loads(
        invoke("large.tflite", "--mesh", "16x8", "--split", "always", "--json").stdout
    )
    assert [cut["name"][0] for cut in facts["cuts"]] == ["0", "1", "2", "3"]
    assert all(cut["parts"] > 1 for cut in facts["cuts"])


def test_the_goal_latency_cuts_what_fits(work: Path) -> None:
    words = "large.tflite", "--mesh", "16x8", "--goal", "latency", "--json"
    whole = json.loads(invoke(*words, "--split", "off").stdout)
    cut = json.loads(invoke(*words, "-o", "m.json").stdout)
    assert cut["cuts"] and not whole["cuts"]
    assert cut["latency_s"]["alone"] < whole["latency_s"]["alone"] / 2
    assert cut["latency_s"]["mean"] >= cut["latency_s"]["alone"]
    again = json.loads(invoke(*words, "--mapping", "m.json").stdout)
    assert again["cuts"] == cut["cuts"]


def test_of_several_cuts_the_best_bound_is_taken(work: Path) -> None:
    """The first cut is one of those that are placed, so the result is at least as good."""
    network = parse_network(Path("large.tflite").read_bytes(), "large")
    cycles = estimated_cycles(network, None)
    splitter = NetworkSplitter(network, cycles, starts_of(network.graph), system())
    merits = list[float]()

    def placed(graph: TaskGraph) -> Placement:
        layout = place(graph, system(), None, 0, Watch())
        merits.append(bound_of(layout).period_s)
        return layout

    best = CutSearch(splitter, "throughput", system().link).best(placed)
    assert len(merits) > 1
    assert bound_of(best.layout).period_s == min(merits)


def test_stages_stay_together(work: Path) -> None:
    words = "large.tflite", "--mesh", "16x8", "--elements", "small.toml", "--stages", "3"
    facts = json.loads(invoke(*words, "--json").stdout)
    runs = {task["name"].partition(", part")[0] for task in facts["tasks"]}
    assert len(runs) == 3


def test_the_hand_overs_are_the_bytes_that_parts_share() -> None:
    net = NetworkBuilder("rows", seed=1)
    x = net.conv2d(net.input((1, 16, 16, 8)), 16, (1, 1))
    network = parse_network(net.build(net.conv2d(x, 4, (3, 3))), "rows")
    splitter = NetworkSplitter(network, [1000, 1000], [0, 1, 2], system(7000), merges=False)
    graph = splitter.split(CostWeights()).graph
    first = [task for task in graph.tasks if task.input_bytes]
    second = [task for task in graph.tasks if task.output_bytes]
    assert min(len(first), len(second)) > 1
    assert sum(task.input_bytes for task in first) == 16 * 16 * 8
    halos = 2 * (len(second) - 1)
    assert sum(edge.bytes for edge in graph.edges) == (16 + halos) * 16 * 16
    assert sum(task.made_bytes or 0 for task in first) == 16 * 16 * 16


def test_a_layer_is_cut_along_its_input_channels() -> None:
    net = NetworkBuilder("dense", seed=1)
    network = parse_network(net.build(net.fully_connected(net.input((1, 16384)), 64)), "dense")
    split = NetworkSplitter(network, [1 << 20], [0, 1], system(18_000)).split(CostWeights())
    graph, cuts = split.graph, split.cuts
    sums = [cut for cut in cuts if "input channels" in cut.ways]
    assert sums, [cut.text for cut in cuts]
    totals = [task for task in graph.tasks if ", total" in task.name]
    assert sum(task.output_bytes for task in totals) == 64
    partial = sum(edge.bytes for edge in graph.edges)
    assert partial == sums[0].cut.depth * 64 * 4, "sums are int32"


def test_what_no_part_fits_is_named() -> None:
    network = parse_network(network_bytes(), "large")
    splitter = NetworkSplitter(network, [1] * 5, starts_of(network.graph), system(64))
    with pytest.raises(CapacityError, match=r"'large': '.*' has no parts that fit the 64 B of an"):
        splitter.split(CostWeights())
