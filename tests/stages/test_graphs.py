"""Graphs of elements on QEMU: forks, joins, inputs and outputs at several elements."""

import json
import signal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ethosgen.board import load_board
from ethosgen.board.system import load_system, uniform_system
from ethosgen.cli import cli
from ethosgen.flow.planning import read
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.stages.cuts import positions
from ethosgen.systems.elements import Rig, build_pipeline, open_pipeline, run_pipeline
from ethosgen.systems.staging import create_pipeline
from ethosgen.values.errors import CapacityError, EthosgenError, InputError, TargetError
from ethosgen.values.network import Network
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import HOST
from ethosgen.verdict.judgement import Criteria, Inputs
from tests.stages.test_cuts import late_input, residual, with_state
from tests.stages.test_pipelines import (
    DIGITS,
    Cut,
    Flip,
    frame_of,
    run,
    run_with_fault,
    signal_after,
)
from tests.support.needs import needs_build, needs_qemu
from tests.support.networks import NetworkBuilder


def branches() -> Network:
    """Return three branches of one tensor, which are joined again, and an output of one."""
    net = NetworkBuilder("branches", seed=7)
    x = net.conv2d(net.input((1, 6, 6, 4)), 4, scale=0.05, zero_point=3)
    a, b = (net.conv2d(x, 4, scale=0.05, zero_point=3) for _ in range(2))
    total = net.add(net.add(a, b), x)
    return parse_network(net.build(net.relu(total), b), "branches")


def saved(network: Network, folder: Path) -> Path:
    file = folder / f"{network.name}.tflite"
    file.write_bytes(file_of(network))
    return file


def make(path: Path, network: Network, link: str, folder: Path) -> Path:
    """Build a graph with an element for each operator."""
    file = saved(network, folder)
    count = len(positions(network.graph)) - 1
    system = uniform_system(load_board("corstone300"), "none", None, count, link, (), "graph")  # type: ignore[arg-type]
    create_pipeline(read(file, None, Watch()), system, EXACT, path, Watch())
    build_pipeline(path, Watch())
    return path


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    return make(folder / "p", residual(), "serial", folder)


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize("link", ["serial", "shared"])
@pytest.mark.parametrize("network", [residual, late_input, branches])
def test_a_graph_equals_the_oracle(tmp_path: Path, link: str, network) -> None:  # type: ignore[no-untyped-def]
    place = make(tmp_path / "p", network(), link, tmp_path)
    report = run(place, 12)
    assert report.verdict == "PASS"
    assert report.golden is not None and report.golden.elements > 0
    wiring = open_pipeline(place, Watch()).wiring
    assert any(len(wiring.edges_before(k)) > 1 for k in range(len(wiring.replicas)))
    assert any(edge.receiver - edge.sender > 1 for edge in wiring.edges if edge.receiver != HOST)


@needs_build
@needs_qemu
def test_a_short_pipeline_of_the_command_line_is_a_graph(tmp_path: Path) -> None:
    file, place = saved(residual(), tmp_path), str(tmp_path / "p")
    words = ["pipeline", str(file), "--stages", "3", "--topology", "graph", "--board"]
    words += ["corstone300", "--npu", "none", "-o", place, "--json"]
    for command in (words, ["build", place], ["run", place, "--samples", "12", "--json"]):
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["verdict"], said["mismatches"]) == ("PASS", 0)
    assert said["interval_cycles"] == pytest.approx(
        max(element["cycles"] for element in said["elements"]), 0.01
    )
    manifest = json.loads((tmp_path / "p" / "pipeline.json").read_text())
    assert [HOST, 0] in [[each["sender"], each["receiver"]] for each in manifest["handovers"]]


@pytest.mark.slow
@needs_build
@needs_qemu
def test_mixed_cores_with_and_without_an_npu(tmp_path: Path) -> None:
    boards = {"m55": "corstone300", "m4": "mps2-an386", "m0plus": "qemu-cortex-m0plus"}
    system = tmp_path / "s.toml"
    lines = [
        f'[[elements]]\nname = "{name}"\nboard = "{board}"\n' for name, board in boards.items()
    ]
    system.write_text('topology = "graph"\n' + "".join(lines))
    file, place = saved(residual(), tmp_path), tmp_path / "p"
    pipeline(file, "--system", system, "-o", place)
    build_pipeline(place, Watch())
    report = run(place, 12)
    assert report.verdict == "PASS"
    assert [element.board for element in report.elements] == list(boards.values())
    assert [plan.npu for plan in report.plans] == ["ethos-u55-128", "none", "none"]


# ---- replicas ---------------------------------------------------------------------------------


def with_replicas(path: Path, replicas: list[int], link: str, topology: str = "chain") -> Path:
    """Build the digits with replicas of each stage."""
    board = load_board("corstone300")
    kinds = (link, (), topology)
    system = uniform_system(board, "none", None, len(replicas), *kinds, replicas)  # type: ignore[arg-type]
    create_pipeline(read(DIGITS, None, Watch()), system, EXACT, path, Watch())
    build_pipeline(path, Watch())
    return path


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize("link", ["serial", "shared"])
@pytest.mark.parametrize(
    ("replicas", "samples"), [([1, 2, 1], 13), ([2, 1], 2), ([2, 3], 17), ([2, 2], 1)]
)
def test_replicas_take_samples_in_turn(
    tmp_path: Path, link: str, replicas: list[int], samples: int
) -> None:
    report = run(with_replicas(tmp_path / "p", replicas, link), samples)
    assert report.verdict == "PASS"
    assert len(report.elements) == sum(replicas)
    assert report.golden is not None and report.golden.elements == 10 * samples


@pytest.mark.slow
@needs_build
@needs_qemu
def test_replicas_of_the_slowest_stage_raise_the_throughput(tmp_path: Path) -> None:
    cuts = tuple(positions(read(DIGITS, None, Watch()).graph))
    single = run(with_replicas(tmp_path / "one", [1, 1], "shared"), 8)
    assert len(cuts) > 2
    double = run(with_replicas(tmp_path / "two", [2, 2], "shared"), 8)
    assert double.interval == pytest.approx(single.interval / 2, rel=0.02)
    assert double.latency == pytest.approx(single.latency, rel=0.02)


@pytest.mark.slow
@needs_build
@needs_qemu
def test_a_replica_that_answers_wrongly_is_named(tmp_path: Path) -> None:
    place = with_replicas(tmp_path / "p", [1, 2], "serial")
    line = line_between(place, 2, HOST)  # that of the second replica, which has samples 1, 3, …
    tap = Flip(line, frame_of(place, line), [1, 3])
    report = run_pipeline(place, Inputs(None, 4, 0), Criteria(), None, Watch(), Rig(tap=tap))
    assert report.suspect is not None and report.suspect.difference is not None
    assert (report.suspect.element, report.suspect.difference.sample) == ("stage_1_1", 3)


def test_a_state_has_no_replicas(tmp_path: Path) -> None:
    file = saved(with_state(), tmp_path)
    system = tmp_path / "s.toml"
    system.write_text('[[elements]]\nname = "a"\nboard = "corstone300"\nreplicas = 2\n')
    with pytest.raises(
        InputError, match=r"'state' keeps a state between samples, .* give 'a_0' no"
    ):
        pipeline(file, "--system", system, "-o", tmp_path / "p")
    assert not (tmp_path / "p").exists()


def test_replicas_have_names_of_their_own(tmp_path: Path) -> None:
    system = system_of(tmp_path / "s.toml", "").read_text().replace('"a"', '"a"\nreplicas = 3', 1)
    (tmp_path / "s.toml").write_text(system)
    names = [element.name for element in load_system(tmp_path / "s.toml").elements]
    assert names == ["a_0", "a_1", "a_2", "b", "c"]
    (tmp_path / "s.toml").write_text(system.replace('"b"', '"a_1"'))
    with pytest.raises(InputError, match="two are called 'a_1'"):
        load_system(tmp_path / "s.toml")


# ---- faults -----------------------------------------------------------------------------------


def line_between(place: Path, sender: int, receiver: int) -> int:
    lines = open_pipeline(place, Watch()).wiring.lines
    return next(
        n for n, line in enumerate(lines) if (line.sender, line.receiver) == (sender, receiver)
    )


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize(("sender", "receiver"), [(0, 3), (2, 3), (0, 1), (1, HOST)])
def test_a_damaged_or_lost_frame_of_a_graph_names_its_line(
    graph: Path, sender: int, receiver: int
) -> None:
    line = line_between(graph, sender, receiver)
    size = frame_of(graph, line)
    who = f"^element 'stage_{sender}'"
    where = "" if receiver == HOST else f".* at 'stage_{receiver}'"
    with pytest.raises(TargetError, match=f"{who}.* damaged frame 1{where}"):
        run_with_fault(graph, tap=Cut(line, size + 40, size + 41, 0x40))
    with pytest.raises(TargetError, match=f"{who}.* dropped frame 2: frame 3 arrived{where}"):
        run_with_fault(graph, tap=Cut(line, 2 * size, 3 * size))
    with pytest.raises(TargetError, match=f"{who} dropped frame 5: it did not arrive{where}"):
        run_with_fault(graph, tap=Cut(line, 5 * size, 6 * size))


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize("element", [0, 2, 3])
def test_an_element_of_a_graph_that_hangs_or_dies_is_named(graph: Path, element: int) -> None:
    with pytest.raises(TargetError, match=f"element 'stage_{element}' hangs"):
        run_with_fault(graph, signal_after(1, element, signal.SIGSTOP), samples=20)
    with pytest.raises(TargetError, match=f"element 'stage_{element}': QEMU ended early"):
        run_with_fault(graph, signal_after(1, element, signal.SIGKILL), samples=20)


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize(("sender", "receiver"), [(0, 3), (2, 3), (1, HOST)])
def test_an_element_of_a_graph_that_answers_wrongly_is_named(
    graph: Path, sender: int, receiver: int
) -> None:
    line = line_between(graph, sender, receiver)
    tap = Flip(line, frame_of(graph, line), [1, 3])  # the second run begins with frame 2
    report = run_pipeline(graph, Inputs(None, 2, 0), Criteria(), None, Watch(), Rig(tap=tap))
    assert report.verdict == "FAIL"
    assert report.suspect is not None and report.suspect.difference is not None
    assert report.suspect.element == f"stage_{sender}"
    assert report.suspect.difference.sample == 1


@needs_build
@needs_qemu
def test_outputs_that_no_element_computes_are_complete(tmp_path: Path) -> None:
    net = NetworkBuilder("given", seed=2)
    x = net.input((1, 4, 4, 4))
    y = net.relu(net.conv2d(x, 4, scale=0.05, zero_point=3))
    file = tmp_path / "given.tflite"
    file.write_bytes(net.build(y, x, net.constant(np.arange(4, dtype="int8").reshape(1, 4))))
    place = tmp_path / "p"
    words = ("--stages", "2", "--board", "corstone300", "--npu", "none", "--topology", "graph")
    pipeline(file, *words, "-o", place)
    build_pipeline(place, Watch())
    report = run(place, 3)
    assert report.verdict == "PASS"
    assert report.golden is not None and report.golden.elements == 3 * (64 + 64 + 4)
    assert report.is_alone_equal


# ---- system files -----------------------------------------------------------------------------

THREE = "".join(f'[[elements]]\nname = "{name}"\nboard = "corstone300"\n' for name in "abc")


def system_of(path: Path, links: str, head: str = "") -> Path:
    path.write_text(head + THREE + links)
    return path


def link(sender: str, receiver: str, more: str = "") -> str:
    return f'[[links]]\nfrom = "{sender}"\nto = "{receiver}"\n{more}'


def test_links_say_where_frames_go(tmp_path: Path) -> None:
    links = link("a", "b", "bytes_per_s = 1000\nlatency_us = 2\n") + link("a", "c")
    system = load_system(system_of(tmp_path / "s.toml", links))
    assert {ends for ends in system.ways if HOST not in ends} == {(0, 1), (0, 2)}
    assert not system.is_chain
    assert system.links[0, 1].seconds(1000) == pytest.approx(1.000002)
    assert system.links[0, 2].bytes_per_s == 156_250  # the board's line


@pytest.mark.parametrize(
    ("head", "links", "says"),
    [
        (
            "",
            link("a", "b") + "[[links]]\nbytes_per_s = 1\n",
            "some have from and to and some have",
        ),
        ("", '[[links]]\nfrom = "a"\n', "from and to belong together"),
        ("", "[[links]]\nlatency_us = 1\n", "bytes_per_s is missing"),
        ("", link("a", "d"), r"links\[0\]\.to: .*'d'"),
        ("", link("b", "a"), r"links\[0\]: 'b' is not before 'a' in the list of elements"),
        ("", link("a", "a"), r"links\[0\]: it leads from 'a' to itself; name another element"),
        ("", link("a", "b") * 2, r"links\[1\]: another also leads from 'a' to 'b'"),
        ('topology = "graph"\n', link("a", "b"), "topology: the links say with from and to"),
        ('topology = "graph"\n', "[[links]]\nbytes_per_s = 1\n" * 2, "give each from and to"),
        (
            "",
            "[[links]]\nbytes_per_s = 1\n" * 3,
            "links: there are 3 for 3 elements; write 2, one for each pair of neighbours, or one",
        ),
        ('topology = "ring"\n', "", "topology: it must be 'chain' or 'graph'"),
    ],
)
def test_wrong_links(tmp_path: Path, head: str, links: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_system(system_of(tmp_path / "s.toml", links, head))


def pipeline(*words: str | Path) -> None:
    done = CliRunner().invoke(cli, ["pipeline", *map(str, words)])
    if isinstance(done.exception, EthosgenError):
        raise done.exception
    assert done.exit_code == 0, done.output


def test_links_that_lead_nowhere_are_one_sentence(tmp_path: Path) -> None:
    file = saved(residual(), tmp_path)
    system = system_of(tmp_path / "s.toml", link("a", "b"))
    with pytest.raises(
        InputError, match=r"^no \[\[links\]\] lead from element '\w' to element 'c'"
    ):
        pipeline(file, "--system", system, "-o", tmp_path / "p")
    assert not (tmp_path / "p").exists()


def forked() -> Network:
    """Return two branches of unequal work, each with an output of its own."""
    net = NetworkBuilder("forked", seed=8)
    first = net.relu(net.input((1, 8, 8, 4)))
    left = net.relu(net.relu(first))
    right = first
    for _ in range(3):
        right = net.conv2d(right, 4, scale=0.05, zero_point=3)
    return parse_network(net.build(left, right), "forked")


def test_the_cuts_follow_the_links(tmp_path: Path) -> None:
    """Of all cuts only the one between the branches needs no link from b to c."""
    file = saved(forked(), tmp_path)
    system = system_of(tmp_path / "s.toml", link("a", "b") + link("a", "c"))
    pipeline(file, "--system", system, "-o", tmp_path / "p")
    opened = open_pipeline(tmp_path / "p", Watch())
    assert opened.manifest.boundaries == (0, 1, 3, 6)
    ends = [(edge.sender, edge.receiver) for edge in opened.wiring.edges]
    assert ends == [(HOST, 0), (0, 1), (0, 2), (1, HOST), (2, HOST)]


def test_no_element_of_a_graph_is_idle(tmp_path: Path) -> None:
    """Nobody reads what the second operator makes: it is never alone, though it has most work."""
    net = NetworkBuilder("dead", seed=9)
    x = net.relu(net.input((1, 4, 4, 4)))
    net.conv2d(x, 64, scale=0.05, zero_point=3)
    network = parse_network(net.build(net.relu(net.relu(x))), "dead")
    file = saved(network, tmp_path)
    words = ("--board", "corstone300", "--topology", "graph", "-o", tmp_path / "p", "--stages")
    pipeline(file, *words, "3")
    boundaries = open_pipeline(tmp_path / "p", Watch()).manifest.boundaries
    assert len(boundaries) == 4
    assert (1, 2) not in pairwise(boundaries)
    with pytest.raises(InputError, match="element 'stage_1' would send nothing, as nobody reads"):
        pipeline(file, *words[:-2], tmp_path / "q", "--stages", "4")
    assert not (tmp_path / "q").exists()


def test_an_element_with_too_many_lines_is_one_sentence(tmp_path: Path) -> None:
    net = NetworkBuilder("star", seed=7)
    x = net.relu(net.input((1, 6, 6, 4)))
    total = x
    for _ in range(4):
        total = net.add(total, net.relu(x))
    network = parse_network(net.build(total), "star")
    file = saved(network, tmp_path)
    with pytest.raises(CapacityError, match=r"element '\w+': it exchanges frames over [5-9] lines"):
        pipeline(file, "--stages", "9", "--topology", "graph", "--board", "corstone300", "-o",
                 tmp_path / "p")  # fmt: skip
    assert not (tmp_path / "p").exists()


def test_an_element_with_too_many_senders_is_one_sentence(tmp_path: Path) -> None:
    """In a mesh an element has no line of its own for each, but a bit in its report."""
    count = 35
    net = NetworkBuilder("many", seed=7)
    x = net.input((1, 2, 2, 4))
    joined = net.concat([net.relu(x) for _ in range(count)])
    file = saved(parse_network(net.build(joined), "many"), tmp_path)
    mesh = 'link = "mesh"\ntopology = "graph"\n[mesh]\ncolumns = 6\nrows = 6\n'
    elements = "".join(
        f'[[elements]]\nname = "e{k}"\nboard = "corstone300"\nnpu = "none"\n'
        for k in range(count + 1)
    )
    system = tmp_path / "s.toml"
    system.write_text(mesh + elements)
    says = r"element 'e35': it has 35 hand-overs for each sample, but the generated C can have 32"
    with pytest.raises(CapacityError, match=says):
        pipeline(file, "--system", system, "-o", tmp_path / "p")
    assert not (tmp_path / "p").exists()
