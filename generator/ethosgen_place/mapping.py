"""A mapping of tasks to elements: our placement as a file, or another mapper's."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ethosgen.stages.task_graph import GraphTable, Name, TaskGraph
from ethosgen.values.errors import CapacityError, InputError
from ethosgen.values.grammar import counted, unknown
from ethosgen_place.buffers import base_bytes, depths, describe_need
from ethosgen_place.layout import Placement
from ethosgen_place.system import Mesh, MeshSystem, Place
from ethosgen_place.traffic import Replication


class Mapped(GraphTable):
    """A whole mapping."""

    schema_version: Literal[1]
    """The version of this format."""
    graph: str = ""
    """The name of the task graph."""
    mesh: Mesh
    """The size of the mesh."""
    tasks: Mapping[Name, Annotated[tuple[Place, ...], Field(min_length=1, strict=False)]]
    """The elements of each task, [x, y]: replica 0, replica 1, and so on. Replica r of n does the
    samples s with s mod n = r."""


def mapped(layout: Placement) -> Mapped:
    """Return a layout as a mapping."""
    replication = layout.replication
    places = [layout.system.place(int(element)) for element in layout.elements]
    return Mapped(
        schema_version=1,
        graph=replication.graph.name,
        mesh=layout.system.mesh,
        tasks={
            task.name: tuple(places[first : first + count])
            for task, first, count in zip(
                replication.graph.tasks, replication.first, replication.counts, strict=True
            )
        },
    )


def laid_out(mapping: Mapped, graph: TaskGraph, system: MeshSystem, title: str) -> Placement:
    """Return the layout of a mapping; InputError if it does not fit the graph and the system.

    `title` names the file.
    """
    if mapping.mesh != system.mesh:
        raise InputError(
            f"{title}: mesh: it is for a mesh of {mapping.mesh}, but this one is {system.mesh}; "
            "pass the mesh that it is for"
        )
    for name in mapping.tasks:
        if name not in graph.index:
            raise InputError(f"{title}: tasks: {unknown('task', name, _some(graph))}")
    elements: list[int] = []
    used: dict[int, str] = {}
    for index, task in enumerate(graph.tasks):
        if task.name not in mapping.tasks:
            raise InputError(f"{title}: tasks: '{task.name}' is missing; give it an element")
        places = mapping.tasks[task.name]
        if task.replicas not in (None, len(places)):
            raise InputError(
                f"{title}: tasks.{task.name}: it has {counted(len(places), 'element')}, but the "
                f"task graph requires {counted(task.replicas or 0, 'replica')}; correct one"
            )
        for number, place in enumerate(places):
            where = f"{title}: tasks.{task.name}[{number}]"
            elements.append(_element(place, where, used, system))
            _check_memory(graph, index, elements[-1], where, system)
    replication = Replication(graph, [len(mapping.tasks[task.name]) for task in graph.tasks])
    memories = np.minimum.reduceat(system.memories[elements], replication.first).tolist()
    buffers = depths(graph, replication.counts, memories)
    return Placement(replication, system, np.array(elements), buffers)


def _element(place: tuple[int, int], where: str, used: dict[int, str], system: MeshSystem) -> int:
    x, y = place
    mesh = system.mesh
    if x >= mesh.width or y >= mesh.height:
        raise InputError(
            f"{where}: there is no element ({x}, {y}) in the mesh of {mesh}; the last one is "
            f"({mesh.width - 1}, {mesh.height - 1})"
        )
    element = y * mesh.width + x
    if element in used:
        raise InputError(
            f"{where}: element ({x}, {y}) is also {used[element]}; an element does one task"
        )
    if not system.alive[element]:
        raise InputError(f"{where}: element ({x}, {y}) is dead; choose another one")
    used[element] = where.rpartition(": ")[2]
    return element


def _check_memory(
    graph: TaskGraph, task: int, element: int, where: str, system: MeshSystem
) -> None:
    need, memory = base_bytes(graph, task), int(system.memories[element])
    if need > memory:
        raise CapacityError(
            f"{where}: the task takes {describe_need(graph, task)}, {need - memory:,} B more than "
            f"element {system.place(element)} has; choose a larger one"
        )


def _some(graph: TaskGraph) -> Sequence[str]:
    names = list(graph.index)
    return names if len(names) <= 12 else [*names[:12], "…"]
