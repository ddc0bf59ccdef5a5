"""Files: what is read is what was written, and a sentence for each kind of bad one."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from ethosgen.stages.task_graph import read_graph
from ethosgen.values.errors import CapacityError, EthosgenError, InputError
from ethosgen_place.files import (
    SCHEMAS,
    format_schema,
    mesh_of,
    read_mapping,
    read_system,
    write_all,
    write_graph,
    write_mapping,
)
from ethosgen_place.mapping import Mapped, laid_out, mapped
from ethosgen_place.ports import gates_of
from ethosgen_place.system import Link, Mesh, MeshElement, Ports
from tests import ROOT
from tests.support.task_graphs import chain, graph_json, layout, random_graph, system

GOOD = graph_json({"a": 5, "b": 7, "c": 9}, {("a", "b"): 10, ("b", "c"): 20})
MAPPING = {
    "schema_version": 1,
    "graph": "small",
    "mesh": {"width": 3, "height": 2},
    "tasks": {"a": [[0, 0]], "b": [[1, 0], [1, 1]], "c": [[2, 0]]},
}
ELEMENTS = """
schema_version = 1
[mesh]
width = 3
height = 2
[element]
clock_hz = 1000000000
memory_bytes = 4096
[link]
bytes_per_s = 1e9
latency_s = 1e-8
[[override]]
x = [0, 1]
y = 1
dead = true
"""


def put(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def changed(content: dict[str, Any], *path: Any, to: Any = None) -> dict[str, Any]:
    """Return a copy with one value changed, or removed if `to` is None."""
    copied: dict[str, Any] = json.loads(json.dumps(content))
    here: Any = copied
    for part in path[:-1]:
        here = here[part]
    if to is None:
        del here[path[-1]]
    else:
        here[path[-1]] = to
    return copied


@pytest.mark.parametrize("seed", range(5))
def test_a_task_graph_is_read_as_it_was_written(seed: int, tmp_path: Path) -> None:
    drawn = random_graph(random.Random(seed), 9)
    assert read_graph(put(tmp_path / "g.json", write_graph(drawn))) == drawn


def test_all_fields_of_a_task_graph_are_kept(tmp_path: Path) -> None:
    content = changed(changed(GOOD, "tasks", 0, "replicas", to=2), "edges", 1, "buffers", to=3)
    content = changed(
        changed(content, "tasks", 0, "input_bytes", to=8), "tasks", 2, "output_bytes", to=9
    )
    read = read_graph(put(tmp_path / "g.json", content))
    assert read.tasks[0].replicas == 2
    assert read.edges[1].buffers == 3
    assert json.loads(write_graph(read)) == content


def test_a_graph_without_a_name_has_its_files(tmp_path: Path) -> None:
    assert read_graph(put(tmp_path / "mine.json", changed(GOOD, "name"))).name == "mine"


def test_a_mapping_is_read_as_it_was_written(tmp_path: Path) -> None:
    tasks = chain([1, 2, 3], 4)
    placed = layout(tasks, system(4, 2), [(3, 1), (0, 0), (2, 0), (1, 1)], [2, 1, 1])
    read = read_mapping(put(tmp_path / "m.json", write_mapping(mapped(placed))))
    again = laid_out(read, tasks, placed.system, "m.json")
    assert again.elements.tolist() == placed.elements.tolist()
    assert again.replication.counts == placed.replication.counts
    assert list(again.depths) == list(placed.depths)
    assert mapped(again) == read


def test_a_system_is_the_same_as_toml_and_json(tmp_path: Path) -> None:
    system = read_system(put(tmp_path / "e.toml", ELEMENTS), None)
    assert (system.alive.tolist(), system.clocks[0]) == (
        [True, True, True, False, False, True],
        1e9,
    )
    assert system.memories.tolist() == [4096, 4096, 4096, -1, -1, 4096]
    ports = '[ports]\ninput = "south"\noutput = [[2, 0], [0, 1]]\n'
    system = read_system(put(tmp_path / "e.toml", ELEMENTS + ports), None)
    assert [gate.elements.tolist() for gate in gates_of(system)] == [[3, 4, 5], [2, 3]]
    other = read_system(put(tmp_path / "e.json", system.model_dump_json()), Mesh(width=3, height=2))
    assert other == system
    assert read_system(None, Mesh(width=4, height=1)).alive.all()


BAD_GRAPHS = [
    (changed(GOOD, "tasks", 1, "cylces", to=3), r"tasks\[1\]\.cylces \('b'\): there is no such "
     r"field \(did you mean 'cycles'\?\); remove it"),
    (changed(GOOD, "colour", to="red"), "colour: there is no such field; remove it"),
    (changed(GOOD, "tasks", 1, "cycles"), r"tasks\[1\]\.cycles \('b'\): it is missing; add it"),
    (changed(GOOD, "schema_version"), "schema_version: it is missing"),
    (changed(GOOD, "schema_version", to=2), "schema_version: it must be 1, but is 2"),
    (changed(GOOD, "tasks", 2, "cycles", to=-4), r"tasks\[2\]\.cycles \('c'\): it must be greater "
     "than or equal to 1, but is -4"),
    (changed(GOOD, "tasks", 2, "memory_bytes", to=-1), r"\('c'\): it must be greater than"),
    (changed(GOOD, "edges", 0, "bytes", to=-1), r"edges\[0\]\.bytes: it must be greater than or"),
    (changed(GOOD, "edges", 0, "bytes", to="10"), r"edges\[0\]\.bytes: it must be a whole number"),
    (changed(GOOD, "edges", 0, "bytes", to=1.5), r"edges\[0\]\.bytes: it must be a whole number"),
    (changed(GOOD, "edges", 0, "bytes", to=True), r"edges\[0\]\.bytes: it must be a whole number"),
    (changed(GOOD, "tasks", 0, "replicas", to=0), r"tasks\[0\]\.replicas"),
    (changed(GOOD, "edges", 0, "buffers", to=0), r"edges\[0\]\.buffers"),
    (changed(GOOD, "edges", 1, "to", to="a"), "edges: they form a cycle, 'a' → 'b' → 'a'"),
    (changed(GOOD, "edges", 1, "to", to="b"), "edges: they form a cycle, 'b' → 'b'"),
    (changed(GOOD, "edges", 1, "to", to="d"), r"edges\[1\]\.to: unknown task 'd'; choose one of"),
    (changed(GOOD, "edges", 1, "from", to="B"), r"unknown task 'B' \(did you mean 'b'\?\)"),
    (changed(GOOD, "edges", 1, "from"), r"edges\[1\]\.from: it is missing"),
    (changed(GOOD, "edges", 1, to=GOOD["edges"][0]), r"edges\[0\] also leads from 'a' to 'b'"),
    (changed(GOOD, "tasks", 1, "name", to="a"), r"tasks\[1\]\.name: 'a' is also the name of"),
    (changed(GOOD, "tasks", to=[]), "tasks: it is empty; name at least one"),
    ([], r"g\.json': it must be"),
    ("null", r"g\.json': it must be"),
    ('{"schema_version": 1, "tasks": [', "is not JSON: .* line 1 column"),
    ('{"tasks": [], "tasks": []}', "'tasks' occurs twice"),
    ('{"tasks": NaN}', "NaN is not a JSON number"),
    ("[" * 100_000, "is not JSON"),
    ("9" * 5000, "is not JSON"),
    (json.dumps(GOOD).replace(": 5,", ": 1e999,"), "it must be a whole number|finite"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BAD_GRAPHS)
def test_a_bad_task_graph_is_one_sentence(content: Any, says: str, tmp_path: Path) -> None:
    path = put(tmp_path / "g.json", content)
    with pytest.raises(InputError, match=says) as caught:
        read_graph(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"task graph '{path}'")


BAD_MAPPINGS = [
    (changed(MAPPING, "tasks", "b", to=[[1, 0], [2, 0]]), r"tasks\.c\[0\]: element \(2, 0\) is "
     r"also tasks\.b\[1\]"),
    (changed(MAPPING, "tasks", "b", to=[[1, 0], [1, 0]]), r"tasks\.b\[1\]: element \(1, 0\) is"),
    (changed(MAPPING, "tasks", "c", to=[[3, 0]]), r"tasks\.c\[0\]: there is no element \(3, 0\) in "
     r"the mesh of 3x2; the last one is \(2, 1\)"),
    (changed(MAPPING, "tasks", "c", to=[[-1, 0]]), r"tasks\.c\[0\]\[0\]: it must be greater"),
    (changed(MAPPING, "tasks", "c", to=[[1]]), r"tasks\.c\[0\]\[1\]: it is missing"),
    (changed(MAPPING, "tasks", "c", to=[]), r"tasks\.c: it is empty; name at least"),
    (changed(MAPPING, "tasks", "c"), "tasks: 'c' is missing; give it an element"),
    (changed(MAPPING, "tasks", "d", to=[[2, 1]]), "tasks: unknown task 'd'; choose one of: a, b"),
    (changed(MAPPING, "tasks", "c", to=[[0, 1]]), r"tasks\.c\[0\]: element \(0, 1\) is dead"),
    (changed(MAPPING, "mesh", "width", to=4), "mesh: it is for a mesh of 4x2, but this one is 3x2"),
    (changed(MAPPING, "tasks", "a", to=[[0, 0], [2, 1]]), r"tasks\.a: it has 2 elements, but the "
     "task graph requires 1 replica"),
    (changed(MAPPING, "place", to=1), "place: there is no such field"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BAD_MAPPINGS)
def test_a_bad_mapping_is_one_sentence(content: Any, says: str, tmp_path: Path) -> None:
    tasks = read_graph(put(tmp_path / "g.json", changed(GOOD, "tasks", 0, "replicas", to=1)))
    mesh = system(3, 2, override=[{"x": 0, "y": 1, "dead": True}])
    path = put(tmp_path / "m.json", content)
    with pytest.raises(InputError, match=says) as caught:
        laid_out(read_mapping(path), tasks, mesh, f"mapping '{path}'")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"mapping '{path}'")


def test_a_mapping_to_an_element_with_too_little_memory_says_by_how_much() -> None:
    mapping = Mapped.model_validate(MAPPING)
    tasks = random_graph(random.Random(0), 1)
    tasks = tasks.model_validate(GOOD)
    small = system(3, 2, override=[{"x": 2, "y": 0, "memory_bytes": 49}])
    with pytest.raises(
        CapacityError, match=r"tasks\.c\[0\]: the task takes 50 B .*, 1 B more than"
    ):
        laid_out(mapping, tasks, small, "m")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("width = 3", "width = 0", r"e\.toml', line 4: mesh\.width: it must be greater"),
        ("dead = true", "death = true", r"line 15: override\[0\]\.death: .*did you mean 'dead'"),
        ("clock_hz = 1000000000", "clock_hz = -1", r"line 7: element\.clock_hz: it must be"),
        ("clock_hz = 1000000000", "clock_hz = nan", "element.clock_hz: it must be"),
        ("latency_s = 1e-8", "latency_s = inf", "link.latency_s: it must be"),
        ("x = [0, 1]", "x = [1, 0]", "x: the first, 1, is after the last, 0"),
        ("x = [0, 1]", "x = [0, 3]", r"override\[0\]\.x: 3 is outside the mesh of 3x2"),
        ("x = [0, 1]", "", r"override\[0\]\.x: it is missing"),
        (
            "width = 3\nheight = 2",
            "width = 60000\nheight = 60000",
            "3,600,000,000 elements, more than the",
        ),
        ("[mesh]", "[mesh", "is not TOML"),
        ("[mesh]\nwidth = 3\nheight = 2", "", "mesh: it is missing"),
        (
            "[link]",
            "[ports]\ninput = 'up'\n[link]",
            r"ports\.input: it must be 'west', 'east', 'no",
        ),
        ("[link]", "[ports]\ninput = []\n[link]", r"ports\.input: it is empty; name at least"),
        ("[link]", "[ports]\noutput = [[0]]\n[link]", r"ports\.output\[0\]\[1\]: it is missing"),
        ("[link]", "[ports]\noutput = [[3, 0]]\n[link]", r"output\[0\]: element \(3, 0\) is outs"),
        ("[link]", "[ports]\ninput = [[1, 0], [1, 0]]\n[link]", r"ports\.input\[1\]: .* twice"),
    ],
)
def test_a_bad_elements_file_is_one_sentence(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in ELEMENTS
    with pytest.raises(InputError, match=says) as caught:
        read_system(put(tmp_path / "e.toml", ELEMENTS.replace(old, new)), None)
    assert "\n" not in str(caught.value)


def test_the_mesh_is_named_once_or_alike(tmp_path: Path) -> None:
    path = put(tmp_path / "e.toml", ELEMENTS)
    with pytest.raises(InputError, match="describes another mesh than --mesh 4x2"):
        read_system(path, Mesh(width=4, height=2))
    with pytest.raises(InputError, match="the size of the mesh is missing; pass --mesh"):
        read_system(None, None)
    with pytest.raises(InputError, match=r"--mesh 0x4: width: it must be greater than or equal"):
        mesh_of(0, 4)
    with pytest.raises(InputError, match=r"--mesh 900x900: .* more than the 65,536"):
        mesh_of(900, 900)


def test_the_documented_files_are_good(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "place.md").read_text()
    blocks = ["\n".join(re.findall(r"^    (.*)$", part, re.M)) for part in page.split("\n\n")]
    graph, mapping = (block for block in blocks if block.startswith("{"))
    (elements,) = (block for block in blocks if block.startswith("schema_version"))
    tasks = read_graph(put(tmp_path / "g.json", graph))
    read = read_mapping(put(tmp_path / "m.json", mapping))
    laid_out(read, tasks, read_system(None, Mesh(width=4, height=1)), "m.json")
    system = read_system(put(tmp_path / "e.toml", elements), None)
    assert (system.element, system.link, system.ports) == (MeshElement(), Link(), Ports()), (
        "it shows the defaults"
    )
    assert 7296 * 0.98 < system.alive.sum() < 7296 - 4
    assert (8 + 192, 9 + 192) in system.broken_pairs
    assert system.energy.cycle_j > 0


def test_what_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read task graph '.*': No such file"):
        read_graph(tmp_path / "none.json")
    (tmp_path / "g.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text in UTF-8"):
        read_graph(tmp_path / "g.json")


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(EthosgenError, match=r"cannot write '.*folder'"):
        write_all({tmp_path / "one.json": b"1", tmp_path / "folder": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    write_all({tmp_path / "one.json": b"1", tmp_path / "two.json": b"2"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "one.json", "two.json"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schemas_are_current_and_explain_every_field(name: str) -> None:
    committed = (ROOT / "docs" / f"place.{name}.schema.json").read_text()
    shown = f"ethosgen place --schema {name} > docs/place.{name}.schema.json"
    assert committed == format_schema(name), f"run: {shown}"
    schema = json.loads(committed)
    tables = {"": schema, **schema.get("$defs", {})}
    for table in tables.values():
        assert table["additionalProperties"] is False
        for field, about in table["properties"].items():
            assert about.get("description"), field
