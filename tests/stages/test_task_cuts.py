"""`ethosgen pipeline --task-graph`: another partitioner's cuts become projects."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ethosgen.cli import cli
from ethosgen.flow.planning import read
from ethosgen.values.errors import CapacityError, EthosgenError, InputError
from ethosgen.values.watch import Watch
from ethosgen_place.files import write_graph
from tests.stages.test_bad_pipelines import small
from tests.support.networks import NetworkBuilder
from tests.support.task_graphs import stages_of


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with net.tflite, six operators, and its graph of three tasks."""
    monkeypatch.chdir(tmp_path)
    net = NetworkBuilder("net")
    tensor = net.input((1, 32, 32, 8))
    for _ in range(6):
        tensor = net.relu(tensor)
    Path("net.tflite").write_bytes(net.build())
    graph = stages_of(read(Path("net.tflite"), None, Watch()), 3, None)
    Path("graph.json").write_text(write_graph(graph))
    return tmp_path


def invoke(*words: str) -> Any:
    words = ("pipeline", "net.tflite", "--task-graph", "graph.json", *words)
    done = CliRunner().invoke(cli, words)
    if isinstance(done.exception, EthosgenError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def give(*tasks: dict[str, Any]) -> None:
    """Write a task graph as another partitioner would."""
    about = {"cycles": 1, "memory_bytes": 1}
    tasks = tuple({"name": f"t{i}", **about, **task} for i, task in enumerate(tasks))
    Path("graph.json").write_text(json.dumps({"schema_version": 1, "tasks": tasks}))


def sizes(facts: Any) -> list[int]:
    return [element["operators"] for element in facts["elements"]]


def test_the_graph_that_place_writes_is_cut_alike(work: Path) -> None:
    spans = [task["operators"] for task in json.loads(Path("graph.json").read_text())["tasks"]]
    assert spans == [[0, 1], [2, 3], [4, 5]]
    assert sizes(invoke("--board", "corstone300", "-o", "p", "--json")) == [2, 2, 2]


def test_another_partitioners_cuts_are_obeyed_in_any_order(work: Path) -> None:
    give({"operators": [1, 5]}, {"operators": [0, 0]})
    assert sizes(invoke("--board", "corstone300", "-o", "p", "--json")) == [1, 5]
    assert json.loads(Path("p/pipeline.json").read_text())


def test_a_tasks_replicas_are_elements_of_their_own(work: Path) -> None:
    give({"operators": [0, 1]}, {"operators": [2, 5], "replicas": 2})
    names = [e["name"] for e in invoke("--board", "corstone300", "-o", "p", "--json")["elements"]]
    assert names == ["stage_0", "stage_1_0", "stage_1_1"]
    two = str(small(work / "two.toml", 2, 1 << 20))
    with pytest.raises(InputError, match="has replicas, but --system says all about the elements"):
        invoke("--system", two, "-o", "q")


@pytest.mark.parametrize(
    ("tasks", "words", "says"),
    [
        ([{"operators": [0, 2]}, {}], (), r"tasks\[1\] \('t1'\): operators is missing; give it"),
        ([{"operators": [3, 0]}], (), r"tasks\[0\]\.operators \('t0'\): the first, 3, is"),
        ([{"operators": [0, 6]}], (), "there is no operator 6: 'net' has 6 operators"),
        ([{"operators": [1, 5]}], (), "operator 0 is in no task"),
        ([{"operators": [0, 1]}, {"operators": [3, 5]}], (), "operator 2 is in no task"),
        ([{"operators": [0, 4]}], (), "operator 5 is in no task"),
        ([{"operators": [0, 3]}, {"operators": [3, 5]}], (), "operator 3 is in two tasks"),
        ([{"operators": [0, 5]}], ("--stages", "1"), "omit --stages"),
    ],
)
def test_a_bad_graph_is_one_sentence(
    work: Path, tasks: list[dict[str, Any]], words: tuple[str, ...], says: str
) -> None:
    give(*tasks)
    with pytest.raises(InputError, match=says) as caught:
        invoke("--board", "corstone300", "-o", "p", *words)
    assert "\n" not in str(caught.value)
    assert not Path("p").exists()


def test_as_many_elements_as_tasks_and_each_large_enough(work: Path) -> None:
    two = str(small(work / "two.toml", 2, 1 << 20))
    with pytest.raises(InputError, match="has 3 tasks, but the system has 2 elements"):
        invoke("--system", two)
    three = str(small(work / "three.toml", 3, 4096))
    says = r"operators 0 to 1 of 'net' do not fit element 'e0': they need [\d,]+ bytes more than"
    with pytest.raises(CapacityError, match=says):
        invoke("--system", three, "-o", "p")
    assert not Path("p").exists()
