"""The task graph: stages of a network, their cycles and memory, and the bytes that they hand over.

It is a file that other partitioners read and write, so every figure is checked.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from ethosgen.toml.json_files import load_json
from ethosgen.toml.tables import Table
from ethosgen.values.grammar import unknown

KIND = "task graph"
"""What such a file is called."""

MOST = 10**15
"""The greatest figure of cycles and bytes: sums of them stay exact."""
MOST_ELEMENTS = 65_536
"""The largest mesh."""

Figure = Annotated[int, Field(ge=0, le=MOST)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Replicas = Annotated[int, Field(ge=1, le=MOST_ELEMENTS)]


class GraphTable(Table):
    """A part of a file of task graphs: infinity is not a figure, and "from" is also `sender`."""

    model_config = ConfigDict(allow_inf_nan=False, populate_by_name=True)


class Task(GraphTable):
    """A task: what one element does with each sample."""

    name: Name
    """Its name, unique in the graph."""
    cycles: Annotated[int, Field(ge=1, le=MOST)]
    """The cycles of an element for one sample."""
    memory_bytes: Figure
    """The memory that it needs on an element, without the hand-over buffers."""
    input_bytes: Figure = 0
    """The bytes of the network's inputs that it gets from an input port for each sample."""
    output_bytes: Figure = 0
    """The bytes of the network's outputs that it sends to an output port for each sample."""
    made_bytes: Figure | None = None
    """The bytes of its results for other tasks, which its output buffers hold. It is less than the
    sum of its hand-overs if several tasks get the same bytes [default: that sum]."""
    multiplications: Figure = 0
    """The multiplications for one sample. Only `ethosgen place` reads them, for the energy."""
    operators: Annotated[tuple[Figure, Figure], Field(strict=False)] | None = None
    """The network's operators in it, by the index of the first and the last one. Only `ethosgen
    pipeline --task-graph` needs it."""
    replicas: Replicas | None = None
    """The number of elements that run it, taking samples in turn [default: from --replicas].
    """

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.operators is not None and self.operators[0] > self.operators[1]:
            raise ValueError(
                f"operators: the first, {self.operators[0]}, is after the last, {self.operators[1]}"
            )
        return self


class Edge(GraphTable):
    """A hand-over: what a task sends to another one for each sample."""

    sender: Name = Field(alias="from")
    """The name of the task that sends."""
    receiver: Name = Field(alias="to")
    """The name of the task that receives."""
    bytes: Figure
    """The bytes of one sample."""
    buffers: Annotated[int, Field(ge=1, le=MOST_ELEMENTS)] | None = None
    """The number of samples that the receiving element can hold [default: 2, and more if another
    path between the two tasks is longer]."""


class TaskGraph(GraphTable):
    """A whole task graph."""

    schema_version: Literal[1]
    """The version of this format."""
    name: str = ""
    """The name of the network."""
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, strict=False)]
    """The tasks, in any order."""
    edges: Annotated[tuple[Edge, ...], Field(strict=False)] = ()
    """The hand-overs between them; they form no cycle."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names: dict[str, int] = {}
        for index, task in enumerate(self.tasks):
            if task.name in names:
                raise ValueError(
                    f"tasks[{index}].name: '{task.name}' is also the name of "
                    f"tasks[{names[task.name]}]; give each task its own"
                )
            names[task.name] = index
        _check_edges(self.edges, names)
        try:
            tuple(_sorter(self.edges, names).static_order())
        except CycleError as error:
            way = " → ".join(f"'{name}'" for name in _shortened(error.args[1]))
            raise ValueError(
                f"edges: they form a cycle, {way}; a sample visits each task once, so remove one"
            ) from None
        return self

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The tasks' positions in `tasks`, by name."""
        return {task.name: i for i, task in enumerate(self.tasks)}

    @cached_property
    def order(self) -> Sequence[int]:
        """The tasks' positions in `tasks`; every sender comes before its receivers."""
        sorter = _sorter(self.edges, self.index)
        return [self.index[name] for name in sorter.static_order()]

    @cached_property
    def ends(self) -> Sequence[tuple[int, int]]:
        """The positions of sender and receiver of each edge."""
        return [(self.index[edge.sender], self.index[edge.receiver]) for edge in self.edges]

    @cached_property
    def incoming(self) -> Sequence[Sequence[int]]:
        """The edges, by position, that each task receives."""
        return self._edges_at(1)

    @cached_property
    def outgoing(self) -> Sequence[Sequence[int]]:
        """The edges, by position, that each task sends."""
        return self._edges_at(0)

    def _edges_at(self, end: int) -> Sequence[Sequence[int]]:
        edges: list[list[int]] = [[] for _ in self.tasks]
        for number, ends in enumerate(self.ends):
            edges[ends[end]].append(number)
        return edges


def read_graph(path: Path) -> TaskGraph:
    """Read a task graph; its name is the file's unless it has one."""
    graph = load_json(path, KIND, TaskGraph)
    return graph if graph.name else graph.model_copy(update={"name": path.stem})


def _check_edges(edges: Sequence[Edge], names: Mapping[str, int]) -> None:
    seen: dict[tuple[str, str], int] = {}
    for index, edge in enumerate(edges):
        for field, name in (("from", edge.sender), ("to", edge.receiver)):
            if name not in names:
                known = list(names)
                shown = known if len(known) <= 12 else [*known[:12], "…"]
                raise ValueError(f"edges[{index}].{field}: {unknown('task', name, shown)}")
        ends = edge.sender, edge.receiver
        if ends in seen:
            raise ValueError(
                f"edges[{index}]: edges[{seen[ends]}] also leads from '{ends[0]}' to '{ends[1]}'; "
                "add their bytes in one"
            )
        seen[ends] = index


def _sorter(edges: Sequence[Edge], names: Mapping[str, int]) -> TopologicalSorter[str]:
    sorter = TopologicalSorter[str](dict.fromkeys(names, ()))
    for edge in edges:
        sorter.add(edge.receiver, edge.sender)
    return sorter


def _shortened(names: Sequence[str]) -> Sequence[str]:
    return names if len(names) <= 8 else [*names[:4], "…", *names[-3:]]
