"""Places a task graph, or a network, on a mesh of elements, and simulates it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ethosgen.flow.lowered import refuse_accelerators
from ethosgen.flow.planning import read
from ethosgen.frontend import written
from ethosgen.host.extras import EXTRAS
from ethosgen.host.file_errors import require_writable
from ethosgen.stages.task_graph import TaskGraph, read_graph
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Network
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch
from ethosgen_place.buffers import base_bytes
from ethosgen_place.cutting import CutSearch, PlacedCut
from ethosgen_place.files import (
    read_mapping,
    read_system,
    write_all,
    write_graph,
    write_mapping,
)
from ethosgen_place.layout import Placement
from ethosgen_place.mapping import laid_out, mapped
from ethosgen_place.page import placement_page
from ethosgen_place.picture import draw
from ethosgen_place.placer import Goal
from ethosgen_place.placer import place as place_graph
from ethosgen_place.report import PlacementReport, report_of
from ethosgen_place.simulation import simulate, simulate_steadily
from ethosgen_place.splitting import NetworkSplitter, SplitNetwork
from ethosgen_place.system import Mesh, MeshSystem
from ethosgen_place.tasks import GRAPH_SUFFIX, estimated_cycles, starts_of, task_graph

Splitting = Literal["auto", "always", "off"]
"""Whether operators are cut into parts: if the memory or the goal demands it, all that can be, or
none.
"""


@dataclass(frozen=True)
class PlacementRequest:
    """The request to `ethosgen place`.

    `source` is a task graph or a network; `stages`, `npu` and `split` are for a network only.
    `replicas` is None for as many as help, or for one each if the goal is the latency. `mapping` is
    judged instead of our own placement.
    """

    source: Path
    mesh: Mesh | None = None
    elements: Path | None = None
    stages: int | None = None
    npu: str | None = None
    split: Splitting = "auto"
    replicas: int | None = None
    goal: Goal = "throughput"
    mapping: Path | None = None
    output: Path | None = None
    graph_output: Path | None = None
    parts: Path | None = None
    plot: Path | None = None
    samples: int | None = None
    seed: int = 0
    reading: ReadOptions = AS_GIVEN


def place(asked: PlacementRequest, watch: Watch) -> PlacementReport:
    """Place or judge, simulate, and write the requested files; none if anything is wrong."""
    EXTRAS["place"].require("placing")
    _check_outputs(asked)
    with watch.phase("read", f"reading {asked.source.name}"):
        system = read_system(asked.elements, asked.mesh)
        tasks = _read_tasks(asked, system, watch)
    with watch.phase("place", "placing tasks"):
        placed = _lay_out(asked, tasks, system, watch)
        layout, graph, cuts = placed.layout, placed.cut.graph, placed.cut.cuts
    with watch.phase("simulate", "simulating samples"):
        if asked.samples is None:
            report = report_of(layout, simulate_steadily(layout, watch), cuts)
        else:
            report = report_of(layout, simulate(layout, asked.samples, watch), cuts)
    contents: dict[Path, bytes] = {}
    if asked.graph_output is not None:
        contents[asked.graph_output] = write_graph(graph).encode()
    if asked.parts is not None and placed.cut.parts is not None:
        contents[asked.parts] = written(placed.cut.parts).data
    if asked.output is not None:
        contents[asked.output] = write_mapping(mapped(layout)).encode()
    if asked.plot is not None:
        picture = draw(report)
        is_page = asked.plot.suffix.lower() == ".html"
        contents[asked.plot] = placement_page(report, picture) if is_page else picture
    write_all(contents)
    return report


def _check_outputs(asked: PlacementRequest) -> None:
    """Raise InputError before the work for files that cannot be written after it."""
    read_too = [p.resolve() for p in (asked.source, asked.elements, asked.mapping) if p]
    outputs = [p for p in (asked.output, asked.graph_output, asked.parts, asked.plot) if p]
    for path in outputs:
        if path.is_dir():
            raise InputError(f"'{path}' is a folder; name a file")
        require_writable(path.absolute().parent)
        if path.resolve() in read_too:
            raise InputError(f"'{path}' would replace what is read from it; choose another name")
        if not path.absolute().parent.is_dir():
            raise InputError(f"there is no folder '{path.parent}'; make it, or choose another one")
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise InputError("two results would have the same file; give each a name of its own")
    if asked.plot is not None:
        if asked.plot.suffix.lower() not in (".svg", ".html"):
            raise InputError(f"'{asked.plot}': pictures are .svg files or .html pages")
        EXTRAS["plot"].require("a picture", otherwise=", or leave out --plot")


def _read_tasks(
    asked: PlacementRequest, system: MeshSystem, watch: Watch
) -> SplitNetwork | CutSearch:
    """Return the task graph, or the ways to cut the operators of a network into parts."""
    if asked.source.suffix.lower() != GRAPH_SUFFIX:
        refuse_accelerators(
            asked.source, "elements of a mesh have none; place the program before it is lowered"
        )
        return _cut_network(read(asked.source, None, watch, asked.reading), asked, system)
    options = (("--stages", asked.stages), ("--npu", asked.npu), ("--parts", asked.parts))
    for option, value in options:
        if value is not None:
            raise InputError(f"{option} is for networks, but '{asked.source}' is a task graph")
    return SplitNetwork(read_graph(asked.source), ())


def _cut_network(
    network: Network, asked: PlacementRequest, system: MeshSystem
) -> SplitNetwork | CutSearch:
    alive = int(system.alive.sum())
    if asked.stages is not None and asked.stages > alive:
        raise InputError(
            f"{counted(asked.stages, 'stage')} need as many elements, but the {system.mesh} "
            f"mesh has only {counted(alive, 'working element')}; pass fewer"
        )
    starts = starts_of(network.graph)
    stages = asked.stages or min(len(starts) - 1, alive)
    cycles = estimated_cycles(network, asked.npu)
    graph = task_graph(network, stages or None, cycles)
    largest = int(system.memories.max())
    is_small = all(base_bytes(graph, task) <= largest for task in range(len(graph.tasks)))
    is_latency, always = asked.goal == "latency", asked.split == "always"
    if asked.split == "off" or (is_small and not is_latency and not always):
        if asked.parts is not None:
            why = "all operators fit" if is_small else "--split off cuts none"
            raise InputError(f"--parts: {why}, so there are no parts; leave it out")
        return SplitNetwork(graph, ())
    if asked.stages is not None:
        starts = [*(task.operators[0] for task in graph.tasks if task.operators), starts[-1]]
    splitter = NetworkSplitter(
        *(network, cycles, starts, system),
        merges=asked.stages is None,
        finer=is_latency,
        always=always,
        with_parts=asked.parts is not None,
    )
    is_choice = is_small and not always and asked.parts is None
    whole = SplitNetwork(graph, ()) if is_choice else None
    return CutSearch(splitter, asked.goal, system.link, whole)


def _lay_out(
    asked: PlacementRequest, tasks: SplitNetwork | CutSearch, system: MeshSystem, watch: Watch
) -> PlacedCut:
    if asked.mapping is None:

        def placed(graph: TaskGraph) -> Placement:
            watch.say(f"placing {counted(len(graph.tasks), 'task')}")
            return place_graph(graph, system, asked.replicas, asked.seed, watch, asked.goal)

        if isinstance(tasks, CutSearch):
            return tasks.best(placed)
        return PlacedCut(tasks, placed(tasks.graph))
    if asked.goal != "throughput" and not isinstance(tasks, CutSearch):
        raise InputError("--goal contradicts --mapping, which is not changed")
    if asked.replicas is not None:
        raise InputError("--replicas contradicts --mapping, which says how many there are")
    mapping = read_mapping(asked.mapping)
    cut = tasks.named(mapping.tasks) if isinstance(tasks, CutSearch) else tasks
    title = f"mapping '{asked.mapping}'"
    return PlacedCut(cut, laid_out(mapping, cut.graph, system, title))
