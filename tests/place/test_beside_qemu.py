"""Meshes of elements on QEMU beside their simulation by `ethosgen place`."""

from pathlib import Path

import pytest

from ethosgen.board.system import load_system
from ethosgen.flow.planning import read
from ethosgen.stages.report import PipelineReport
from ethosgen.stages.task_graph import TaskGraph
from ethosgen.systems.elements import Opened, build_pipeline, open_pipeline
from ethosgen.systems.staging import create_pipeline
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from ethosgen.values.wiring import HOST
from ethosgen_place.mapping import Mapped, laid_out
from ethosgen_place.simulation import simulate_steadily
from ethosgen_place.system import MeshSystem
from tests.stages.test_pipelines import run
from tests.support.needs import needs_build, needs_extra, needs_qemu
from tests.support.networks import NetworkBuilder

WITH_ENDS = 70 / 64
"""The bytes of a packet for each byte of a frame."""
CLOCK_HZ = 32e6


def residual(path: Path, operators: int) -> Path:
    """Write blocks of two convolutions and a sum with what went in, and more layers at the end."""
    net = NetworkBuilder("deep", seed=3)
    x, count = net.conv2d(net.input((1, 8, 8, 4)), 4, scale=0.05, zero_point=3), 1
    while count + 3 <= operators:
        y = net.conv2d(net.conv2d(x, 4, scale=0.05, zero_point=3), 4, scale=0.05, zero_point=3)
        x, count = net.add(x, y), count + 3
    for _ in range(count, operators):
        x = net.relu(x)
    path.write_bytes(net.build(x))
    return path


def simulated_s(opened: Opened, report: PipelineReport) -> float:
    """Return the time between two samples by place, with the elements' cycles on QEMU."""
    assert opened.manifest.mesh is not None
    mesh, wiring, names = opened.mesh, opened.wiring, opened.names

    enter = {edge.receiver: edge.bytes for edge in wiring.edges if edge.sender == HOST}
    leave = {edge.sender: edge.bytes for edge in wiring.edges if edge.receiver == HOST}
    tasks = [
        {
            "name": name,
            "cycles": figures.cycles,
            "memory_bytes": 0,
            "input_bytes": enter.get(number, 0),
            "output_bytes": leave.get(number, 0),
        }
        for number, (name, figures) in enumerate(zip(names, report.elements, strict=True))
    ]
    edges = [
        {"from": names[edge.sender], "to": names[edge.receiver], "bytes": edge.bytes}
        for edge in wiring.edges
        if HOST not in (edge.sender, edge.receiver)
    ]
    rate = next(each.bytes_per_s for each in opened.manifest.handovers if each.bytes_per_s)
    size = {"width": mesh.columns, "height": mesh.rows}
    system = MeshSystem.model_validate(
        {
            "mesh": size,
            "element": {"clock_hz": CLOCK_HZ},
            "link": {"bytes_per_s": rate / WITH_ENDS},
            "ports": {"input": [[0, 0]], "output": [[0, 0]]},
        }
    )
    places = {name: [mesh.place(number)] for number, name in enumerate(names)}
    mapping = Mapped.model_validate({"schema_version": 1, "mesh": size, "tasks": places})
    graph = TaskGraph.model_validate(
        {"schema_version": 1, "name": "deep", "tasks": tasks, "edges": edges}
    )
    return simulate_steadily(laid_out(mapping, graph, system, "mapping"), Watch()).period_s


@pytest.mark.slow
@needs_build
@needs_qemu
@needs_extra("place")
@pytest.mark.parametrize("size", [(4, 4), (8, 4)])
def test_a_mesh_on_qemu_is_as_fast_as_place_says(tmp_path: Path, size: tuple[int, int]) -> None:
    count = size[0] * size[1]
    text = f'link = "mesh"\ntopology = "graph"\n[mesh]\ncolumns = {size[0]}\nrows = {size[1]}\n'
    text += "".join(f'[[elements]]\nname = "e{k}"\nboard = "corstone300"\n' for k in range(count))
    (tmp_path / "s.toml").write_text(text)
    network = read(residual(tmp_path / "deep.tflite", count), None, Watch())
    place = tmp_path / "p"
    create_pipeline(network, load_system(tmp_path / "s.toml"), EXACT, place, Watch())
    build_pipeline(place, Watch())
    report = run(place, 12)
    assert report.verdict == "PASS"
    assert report.golden is not None and report.golden.mismatches == 0
    slowest = report.slowest.cycles / report.slowest.clock_hz
    theirs = simulated_s(open_pipeline(place, Watch()), report) / slowest
    assert report.schedule.interval / slowest == pytest.approx(theirs, rel=0.1)
