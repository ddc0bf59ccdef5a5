"""Places a task graph, or a network, on a mesh of elements, and simulates it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from ethosgen.backend import compiler_of, find_accelerator
from ethosgen.backend.protocol import DivisionTask, Offer
from ethosgen.flow.planning import read
from ethosgen.host.extras import EXTRAS
from ethosgen.host.file_errors import require_writable
from ethosgen.stages.cuts import positions
from ethosgen.stages.task_graph import Edge, TaskGraph, read_graph
from ethosgen.stages.task_graph import Task as Stage
from ethosgen.values.allocation import FREE, OperatorIndex
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Graph, Network
from ethosgen.values.plan import IoStyle
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.watch import Watch
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
from ethosgen_place.stages import cut
from ethosgen_place.system import Mesh, MeshSystem

GRAPH_SUFFIX = ".json"
"""The suffix of a task graph's file; any other file is a network."""


@dataclass(frozen=True)
class PlacementRequest:
    """The request to `ethosgen place`.

    `source` is a task graph or a network; `stages` and `npu` are for a network only. `replicas` is
    None for as many as help, or for one each if the goal is the latency. `mapping` is judged
    instead of our own placement.
    """

    source: Path
    mesh: Mesh | None = None
    elements: Path | None = None
    stages: int | None = None
    npu: str | None = None
    replicas: int | None = None
    goal: Goal = "throughput"
    mapping: Path | None = None
    output: Path | None = None
    graph_output: Path | None = None
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
        graph = _read_tasks(asked, system, watch)
    with watch.phase("place", f"placing {counted(len(graph.tasks), 'task')}"):
        layout = _lay_out(asked, graph, system, watch)
    with watch.phase("simulate", "simulating samples"):
        if asked.samples is None:
            report = report_of(layout, simulate_steadily(layout, watch))
        else:
            report = report_of(layout, simulate(layout, asked.samples, watch))
    contents: dict[Path, bytes] = {}
    if asked.graph_output is not None:
        contents[asked.graph_output] = write_graph(graph).encode()
    if asked.output is not None:
        contents[asked.output] = write_mapping(mapped(layout)).encode()
    if asked.plot is not None:
        picture = draw(report)
        is_page = asked.plot.suffix.lower() == ".html"
        contents[asked.plot] = placement_page(report, picture) if is_page else picture
    write_all(contents)
    return report


def task_graph(network: Network, stages: int | None, npu: str | None) -> TaskGraph:
    """Return a network as a task graph of stages, as many as possible if None.

    A stage is a run of consecutive operators between two places where `ethosgen pipeline` can cut,
    too: variables and resources stay within one, and operators that only move bytes stay with a
    neighbour. Its cycles are estimates: the NPU's if it takes an operator, else the CPU's.
    InputError for more stages than the network can be cut into.
    """
    graph = network.graph
    count = len(graph.operators)
    if not count:
        raise InputError(f"'{network.name}' has no operators, so there is nothing to place")
    runs = list(pairwise(_starts(graph)))
    if stages is not None and stages > len(runs):
        raise InputError(
            f"'{network.name}' can be cut into at most {counted(len(runs), 'stage')}, so it cannot "
            f"be cut into {stages}; pass --stages {len(runs)} or fewer"
        )
    cycles = _cycles(network, npu)
    lives = _Lives(graph)
    costs, crossing = [sum(cycles[a:b]) for a, b in runs], lives.crossing
    first = cut(costs, stages or len(runs), [crossing[a] for a, _ in runs])
    starts = [runs[i][0] for i in first]
    ends = [*starts[1:], count]
    names = [_name(graph, *span) for span in zip(starts, ends, strict=True)]
    tasks = tuple(
        Stage(
            name=name,
            cycles=sum(cycles[a:b]),
            memory_bytes=lives.memory(a, b),
            multiplications=sum(graph.macs(op) for op in graph.operators[a:b]),
            input_bytes=lives.inputs(a, b),
            output_bytes=lives.outputs(a, b),
            operators=(a, b - 1),
        )
        for name, a, b in zip(names, starts, ends, strict=True)
    )
    stage_of = [s for s, (a, b) in enumerate(zip(starts, ends, strict=True)) for _ in range(a, b)]
    edges = tuple(
        Edge.model_validate({"from": names[i], "to": names[j], "bytes": size})
        for (i, j), size in sorted(lives.hand_overs(stage_of).items())
    )
    return TaskGraph(schema_version=1, name=network.name, tasks=tasks, edges=edges)


_MOVING = frozenset("PAD PADV2 MIRROR_PAD RESHAPE SQUEEZE EXPAND_DIMS".split())
"""Operators without work of their own: an element for one would only pass on bytes."""


def _starts(graph: Graph) -> list[int]:
    """Return where stages may begin, and the end: a stage has an operator that works, if any does.

    Operators that move bytes stay with the operator after them, at the end with the one before.
    """
    works = [operator.code not in _MOVING for operator in graph.operators]
    starts = [0]
    for start in positions(graph)[1:]:
        if any(works[starts[-1] : start]) and any(works[start:]):
            starts.append(start)
    return [*starts, len(works)]


def _check_outputs(asked: PlacementRequest) -> None:
    """Raise InputError before the work for files that cannot be written after it."""
    read_too = [p.resolve() for p in (asked.source, asked.elements, asked.mapping) if p]
    outputs = [p for p in (asked.output, asked.graph_output, asked.plot) if p]
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


def _read_tasks(asked: PlacementRequest, system: MeshSystem, watch: Watch) -> TaskGraph:
    if asked.source.suffix.lower() != GRAPH_SUFFIX:
        network = read(asked.source, None, watch, asked.reading)
        alive = int(system.alive.sum())
        if asked.stages is not None and asked.stages > alive:
            raise InputError(
                f"{counted(asked.stages, 'stage')} need as many elements, but the {system.mesh} "
                f"mesh has only {counted(alive, 'working element')}; pass fewer"
            )
        stages = asked.stages or min(len(_starts(network.graph)) - 1, alive)
        return task_graph(network, stages or None, asked.npu)
    for option, value in (("--stages", asked.stages), ("--npu", asked.npu)):
        if value is not None:
            raise InputError(f"{option} is for networks, but '{asked.source}' is a task graph")
    return read_graph(asked.source)


def _lay_out(
    asked: PlacementRequest, graph: TaskGraph, system: MeshSystem, watch: Watch
) -> Placement:
    if asked.mapping is None:
        return place_graph(graph, system, asked.replicas, asked.seed, watch, asked.goal)
    if asked.goal != "throughput":
        raise InputError("--goal contradicts --mapping, which is not changed")
    if asked.replicas is not None:
        raise InputError("--replicas contradicts --mapping, which says how many there are")
    return laid_out(read_mapping(asked.mapping), graph, system, f"mapping '{asked.mapping}'")


def _cycles(network: Network, npu: str | None) -> list[int]:
    """Return the estimated cycles of each operator; UnsupportedError if one has no estimate."""
    from ethosgen import aot

    graph = network.graph
    offers: dict[OperatorIndex, Offer] = {}
    if npu is not None:
        accelerator = find_accelerator(npu)
        task = DivisionTask(network, accelerator, IoStyle.ARENA, aot)
        offers = dict(compiler_of(accelerator).offers(task, FREE))
    estimates = []
    for operator in graph.operators:
        offer = offers.get(OperatorIndex(operator.index))
        if offer is not None and offer.cycles is not None:
            estimates.append(max(1, offer.cycles))
            continue
        if npu is not None and offer is None:  # it disappears in another operator
            estimates.append(1)
            continue
        cycles = aot.cpu_cycles(operator, graph)
        if cycles is None:
            output = graph.tensors[operator.outputs[0]].name if operator.outputs else "nothing"
            raise UnsupportedError(
                f"'{network.name}': there is no estimate of the cycles of {operator.title}, "
                f"operator {operator.index}, which computes '{output}'; write a task graph "
                f"({GRAPH_SUFFIX}) with your own figures"
            )
        estimates.append(max(1, cycles))
    return estimates


class _Lives:
    """The operators that write and read the tensors of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made = {t: op.index for op in graph.operators for t in op.outputs}
        self.used: dict[int, list[int]] = {}
        for op in graph.operators:
            for tensor in dict.fromkeys(op.inputs):
                if tensor != ABSENT:
                    self.used.setdefault(tensor, []).append(op.index)

    @property
    def crossing(self) -> Sequence[int]:
        """The bytes that are alive between each operator and the one before it."""
        changes = [0] * (len(self.graph.operators) + 1)
        for tensor, maker in self.made.items():
            last = max(self.used.get(tensor, [maker]))
            changes[maker + 1] += self.graph.tensors[tensor].bytes
            changes[last + 1] -= self.graph.tensors[tensor].bytes
        return list(accumulate(changes))

    def memory(self, first: int, end: int) -> int:
        """Return the constants of operators, and the most that they have in memory at a time."""
        constants = {
            t
            for op in self.graph.operators[first:end]
            for t in op.inputs
            if t != ABSENT and self.graph.tensors[t].data is not None
        }
        inner = [
            (maker, max(self.used[tensor]), self.graph.tensors[tensor].bytes)
            for tensor, maker in self.made.items()
            if first <= maker < end and self.used.get(tensor) and max(self.used[tensor]) < end
        ]
        alive = [sum(size for a, b, size in inner if a <= op <= b) for op in range(first, end)]
        return sum(self.graph.tensors[t].bytes for t in constants) + max(alive)

    def inputs(self, first: int, end: int) -> int:
        """Return the bytes of the graph's inputs that operators use."""
        return sum(
            self.graph.tensors[tensor].bytes
            for tensor in dict.fromkeys(self.graph.inputs)
            if any(first <= user < end for user in self.used.get(tensor, ()))
        )

    def outputs(self, first: int, end: int) -> int:
        """Return the bytes of the graph's outputs that operators make."""
        return sum(
            self.graph.tensors[tensor].bytes
            for tensor in dict.fromkeys(self.graph.outputs)
            if first <= self.made.get(tensor, -1) < end
        )

    def hand_overs(self, stage_of: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the bytes from each stage to each other one that needs its tensors."""
        frames: dict[tuple[int, int], int] = {}
        for tensor, maker in self.made.items():
            sender = stage_of[maker]
            for receiver in {stage_of[user] for user in self.used.get(tensor, ())} - {sender}:
                pair = sender, receiver
                frames[pair] = frames.get(pair, 0) + self.graph.tensors[tensor].bytes
        return frames


def _name(graph: Graph, first: int, end: int) -> str:
    """Return a name for a stage from its operators."""
    code = graph.operators[first].title
    if end - first == 1:
        return f"{first} {code}"
    return f"{first}-{end - 1} {code} to {graph.operators[end - 1].title}"
