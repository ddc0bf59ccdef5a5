"""Meshes of elements: the ways of packets, that none wait in a circle, the gateway, and on QEMU."""

import re
import socket
import time
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import cycle, pairwise, product
from pathlib import Path

import numpy as np
import pytest

from ethosgen.board.system import load_system
from ethosgen.flow.planning import read
from ethosgen.stages.cuts import cut, positions
from ethosgen.stages.frames import handover
from ethosgen.stages.routes import route
from ethosgen.systems.elements import build_pipeline, members_of, open_pipeline
from ethosgen.systems.staging import create_pipeline
from ethosgen.targets.elements import Elements
from ethosgen.targets.gateway import BACK, CREDIT, Gateway, host_lines, packet_of
from ethosgen.values.errors import InputError, TargetError
from ethosgen.values.mesh import EAST, NORTH, OWN, SIDES, SOUTH, WEST, ElementMesh
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import HOST, graph_ways
from tests.stages.test_cuts import residual
from tests.stages.test_graphs import saved
from tests.stages.test_pipelines import run
from tests.support.needs import needs_build, needs_qemu

MESHES = [
    ElementMesh(columns, rows, columns * rows - empty)
    for columns, rows in product(range(1, 7), range(1, 7))
    for empty in range(columns)
]
"""Those of up to 6 by 6 elements, with all numbers of empty places in the last row."""

Channel = tuple[int, int]
"""The line from a node to the next one."""


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_every_packet_arrives_on_a_shortest_way(mesh: ElementMesh) -> None:
    nodes = (*range(mesh.count), HOST)
    for start, stop in product(nodes, nodes):
        if start == stop:
            continue
        (a, b), (c, d) = (mesh.place(max(node, 0)) for node in (start, stop))
        steps = abs(a - c) + abs(b - d) + (HOST in (start, stop))
        assert len(mesh.way(start, stop)) == steps
    assert all(mesh.port(k, k) == OWN for k in range(mesh.count))


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_packets_that_wait_for_each_other_form_no_circle(mesh: ElementMesh) -> None:
    assert circle(mesh, [mesh.way(a, b) for a, b in pairs(mesh)]) is None


def test_a_circle_would_be_found() -> None:
    # Packets that go round a square of four elements, each two steps, wait for each other.
    mesh = ElementMesh(2, 2, 4)
    ways = [[(k, (k + 1) % 4), ((k + 1) % 4, (k + 2) % 4)] for k in range(4)]
    assert circle(mesh, ways) is not None


def pairs(mesh: ElementMesh) -> list[tuple[int, int]]:
    nodes = (*range(mesh.count), HOST)
    return [(a, b) for a, b in product(nodes, nodes) if a != b]


def circle(mesh: ElementMesh, ways: list[list[Channel]]) -> object:
    """Return lines that wait for each other: a packet holds one until it gets the next one."""
    assert mesh.count > 1 or ways
    sorter: TopologicalSorter[Channel] = TopologicalSorter()
    for channels in ways:
        for held, wanted in pairwise(channels):
            sorter.add(held, wanted)
    try:
        sorter.prepare()
    except CycleError as error:
        return error.args[1]
    return None


@pytest.mark.parametrize("mesh", MESHES, ids=str)
def test_neighbours_see_each_other(mesh: ElementMesh) -> None:
    opposite = {NORTH: SOUTH, SOUTH: NORTH, EAST: WEST, WEST: EAST}
    for element, side in product(range(mesh.count), SIDES):
        other = mesh.neighbour(element, side)
        if other is not None and other != HOST:
            assert mesh.neighbour(other, opposite[side]) == element
    for element in range(mesh.count - 1):
        assert element + 1 in [mesh.neighbour(element, side) for side in SIDES]
    assert [mesh.at(mesh.place(k)) for k in range(mesh.count)] == list(range(mesh.count))
    places = product(range(-1, mesh.columns + 1), range(-1, mesh.rows + 1))
    assert sum(mesh.at(place) is not None for place in places) == mesh.count


def test_the_ends_of_lines_belong_together() -> None:
    network, mesh = residual(), ElementMesh(5, 1, 5)
    stages = cut(network, tuple(positions(network.graph)))
    names = [f"s{k}" for k in range(5)]
    wiring = route(network.graph, stages, names, graph_ways(5), [1] * 5)
    places = [
        handover(network.graph, stages[k], names, k, wiring, bytes(8), (), mesh).mesh
        for k in range(5)
    ]
    for k, place in enumerate(places):
        assert place is not None
        for line, (node, other) in enumerate(place.ends_behind):
            if node < 5:
                back = places[node]
                assert back is not None and back.ends_before[other] == (k, line)
        assert place.ports == tuple(mesh.port(k, node) for node in (*range(5), HOST))
    ends = {n: object() for n in (*wiring.behind(HOST), *wiring.before(HOST))}
    lines, own = host_lines(wiring, ends)  # type: ignore[arg-type]
    assert set(own) == {BACK, 0, 1}
    first = places[0]
    assert first is not None
    assert first.ends_before[0] == (5, 0)
    assert (0, 0) in lines.values()


# ---- the gateway ------------------------------------------------------------------------------


@pytest.fixture
def gateway():  # type: ignore[no-untyped-def]
    """Yield the mesh's end of a gateway's line, a line of the host, and the gateway."""
    near, mesh = socket.socketpair()
    end, host = socket.socketpair()
    thread = Gateway(near, 9, {end: (3, 1)}, {2: end})
    thread.start()
    mesh.settimeout(5)
    host.settimeout(5)
    yield mesh, host, thread
    for each in (near, mesh, end, host):
        each.close()
    thread.join(5)


def test_the_gateway_sends_no_packet_without_room(gateway) -> None:  # type: ignore[no-untyped-def]
    mesh, host, _ = gateway
    host.sendall(bytes(range(200)))
    got = b""
    while len(got) < 2 * (4 + 64 + 2):
        got += mesh.recv(1000)
    assert got == packet_of((3, 1), bytes(range(64))) + packet_of((3, 1), bytes(range(64, 128)))
    mesh.settimeout(0.3)
    with pytest.raises(TimeoutError):
        mesh.recv(1)
    mesh.sendall(bytes([CREDIT]))
    mesh.settimeout(5)
    assert mesh.recv(1000) == packet_of((3, 1), bytes(range(128, 192)))


def test_the_gateway_unpacks_and_gives_room_back(gateway) -> None:  # type: ignore[no-untyped-def]
    mesh, host, _ = gateway
    packet = packet_of((9, 2), b"abc")
    mesh.sendall(packet[:5])
    time.sleep(0.1)
    mesh.sendall(packet[5:])
    assert host.recv(100) == b"abc"
    assert mesh.recv(1) == bytes([CREDIT])


@pytest.mark.parametrize("at", [0, 1, 4, -1])
def test_the_gateway_refuses_a_damaged_packet(gateway, at: int) -> None:  # type: ignore[no-untyped-def]
    mesh, _, thread = gateway
    packet = bytearray(packet_of((9, 2), b"abc"))
    packet[at] ^= 0x10
    mesh.sendall(packet)
    thread.join(5)
    assert isinstance(thread.error, TargetError)


# ---- on QEMU ----------------------------------------------------------------------------------


BOARD = "corstone300"


def system_of(
    path: Path, mesh: tuple[int, int], elements: list[str], boards: Sequence[str] = (BOARD,)
) -> Path:
    """Write a system whose elements have these boards in turn."""
    head = f'link = "mesh"\ntopology = "graph"\n[mesh]\ncolumns = {mesh[0]}\nrows = {mesh[1]}\n'
    each = '[[elements]]\nnpu = "none"\nboard = "{}"\n{}\n'
    path.write_text(head + "".join(map(each.format, cycle(boards), elements)))
    return path


def make(
    folder: Path, mesh: tuple[int, int], elements: list[str], boards: Sequence[str] = (BOARD,)
) -> Path:
    file, place = saved(residual(), folder), folder / "p"
    system = load_system(system_of(folder / "s.toml", mesh, elements, boards))
    create_pipeline(read(file, None, Watch()), system, EXACT, place, Watch())
    build_pipeline(place, Watch())
    return place


@pytest.fixture(scope="module")
def square(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mesh")
    return make(folder, (2, 2), [f'name = "{name}"' for name in "abcd"])


@pytest.mark.slow
@needs_build
@needs_qemu
def test_a_mesh_equals_the_oracle(square: Path) -> None:
    report = run(square, 12)
    assert report.verdict == "PASS"
    assert report.golden is not None and report.golden.elements > 0


@pytest.mark.slow
@needs_build
@needs_qemu
def test_a_mesh_with_an_empty_place_equals_the_oracle(tmp_path: Path) -> None:
    """The fifth element is south of the fourth, and sends to the host and others by that."""
    place = make(tmp_path, (2, 3), [f'name = "{name}"' for name in "abcde"])
    assert run(place, 6).verdict == "PASS"


@pytest.mark.slow
@needs_build
@needs_qemu
def test_a_mesh_of_mixed_cores_equals_the_oracle(tmp_path: Path) -> None:
    """UARTs with an interrupt for each direction, and with one for both."""
    boards = (BOARD, "mps2-an385", "mps2-an386", "qemu-cortex-m0plus")
    report = run(make(tmp_path, (2, 2), [f'name = "{name}"' for name in "abcd"], boards), 12)
    assert report.verdict == "PASS"
    assert report.golden is not None and report.golden.elements > 0


@pytest.mark.slow
@needs_build
@needs_qemu
def test_replicas_in_a_mesh_equal_the_oracle(tmp_path: Path) -> None:
    elements = ['name = "a"', 'name = "b"\nreplicas = 3', 'name = "c"', 'name = "d"']
    report = run(make(tmp_path, (3, 2), elements), 13)
    assert report.verdict == "PASS"
    assert len(report.elements) == 6


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize("element", ["a", "c"])
def test_the_element_of_a_mesh_that_answers_wrongly_is_named(square: Path, element: str) -> None:
    """One of the weights in its firmware is another."""
    (file,) = (square / element / "model").glob("*_weights.c")
    row = re.search(r"_weights\[\d+\] = \{([^}]+)\}", file.read_text())
    assert row is not None
    weights = np.array(row[1].split(",")[:64], np.int8).tobytes()
    elf = members_of(open_pipeline(square, Watch()))["abcd".index(element)].elf
    assert elf is not None
    right = elf.read_bytes()
    at = right.index(weights)
    try:
        elf.write_bytes(right[:at] + bytes([right[at] ^ 0x40]) + right[at + 1 :])
        report = run(square, 4)
    finally:
        elf.write_bytes(right)
    assert report.verdict == "FAIL"
    assert report.suspect is not None and report.suspect.difference is not None
    assert report.suspect.element == element


class Break:
    """Changes the byte of that number on a line between neighbours."""

    def __init__(self, line: int, at: int) -> None:
        self._line, self._at, self._seen = line, at, 0

    def __call__(self, line: int, data: bytes) -> bytes:
        if line != self._line:
            return data
        changed = bytearray(data)
        at = self._at - self._seen
        if 0 <= at < len(data):
            changed[at] ^= 0x04
        self._seen += len(data)
        return bytes(changed)


@pytest.mark.slow
@needs_build
@needs_qemu
@pytest.mark.parametrize("at", [30, 300, 1000])
def test_a_damaged_packet_is_never_answered(square: Path, at: int) -> None:
    opened = open_pipeline(square, Watch())
    wiring, mesh = opened.wiring, ElementMesh(2, 2, 4)
    sizes = [wiring.edges[edge].bytes for edge in wiring.edges_behind(HOST)]
    frames = [[bytes([n] * size) for size in sizes] for n in range(8)]
    first = len(wiring.lines)  # the line from the first element to its east
    with (
        pytest.raises(TargetError, match=r"^element 'a'.* (dropped|damaged) frame"),
        Elements(
            *(members_of(opened), wiring, opened.identity),
            mesh=mesh,
            tap=Break(first, at),
            timeout_s=4.0,
        ) as elements,  # fmt: skip
    ):
        elements.run(frames)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("rows = 2", "rows = 3"), "2 columns and 3 rows need 5 to 6 elements, but there are 4"),
        (("rows = 2", "rows = 0"), "rows"),
        (('link = "mesh"', 'link = "serial"'), 'mesh: is only for link = "mesh"; delete it'),
        (("corstone300", "mps2-an500"), "board 'mps2-an500' cannot route packets; a mesh needs 4"),
        (
            ("[mesh]\ncolumns = 2\nrows = 2\n", ""),
            r"mesh: it is missing; add \[mesh\] with columns and rows",
        ),
    ],
)
def test_wrong_meshes(tmp_path: Path, change: tuple[str, str], says: str) -> None:
    file = system_of(tmp_path / "s.toml", (2, 2), [f'name = "{name}"' for name in "abcd"])
    text = file.read_text()
    assert change[0] in text
    file.write_text(text.replace(*change, 1))
    with pytest.raises(InputError, match=says):
        load_system(file)
