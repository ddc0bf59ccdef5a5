"""Task graphs and systems for tests of `ethosgen_place`."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ethosgen.stages.task_graph import TaskGraph
from ethosgen.values.network import Network
from ethosgen_place.buffers import depths
from ethosgen_place.layout import Placement
from ethosgen_place.system import MeshSystem
from ethosgen_place.tasks import estimated_cycles, task_graph
from ethosgen_place.traffic import Replication

CLOCK_HZ = 1000.0
"""The clock of `system`: a cycle takes a millisecond."""
BYTES_PER_S = 1000.0
"""Its links: a byte takes a millisecond."""


def graph_json(
    tasks: dict[str, int], edges: dict[tuple[str, str], int], memory_bytes: int = 10
) -> dict[str, Any]:
    """Return a task graph's file: cycles by task, bytes by edge."""
    return {
        "schema_version": 1,
        "name": "small",
        "tasks": [
            {"name": name, "cycles": cycles, "memory_bytes": memory_bytes}
            for name, cycles in tasks.items()
        ],
        "edges": [{"from": a, "to": b, "bytes": size} for (a, b), size in edges.items()],
    }


def graph(
    tasks: dict[str, int], edges: dict[tuple[str, str], int], memory_bytes: int = 10
) -> TaskGraph:
    """Return a task graph: cycles by task, bytes by edge."""
    return TaskGraph.model_validate(graph_json(tasks, edges, memory_bytes))


def chain(cycles: Sequence[int], size: int) -> TaskGraph:
    """Return a chain of tasks a, b, c, … that hand over `size` bytes."""
    names = [chr(ord("a") + i) for i in range(len(cycles))]
    pairs = itertools.pairwise(names)
    return graph(dict(zip(names, cycles, strict=True)), dict.fromkeys(pairs, size))


def system(width: int, height: int, latency_s: float = 0.0, **more: Any) -> MeshSystem:
    """Return a mesh in which a cycle and a byte take a millisecond each."""
    fields = {
        "mesh": {"width": width, "height": height},
        "element": {"clock_hz": CLOCK_HZ, "memory_bytes": 1 << 20},
        "link": {"bytes_per_s": BYTES_PER_S, "latency_s": latency_s},
    }
    return MeshSystem.model_validate(fields | more)


def layout(
    tasks: TaskGraph,
    mesh: MeshSystem,
    places: Sequence[tuple[int, int]],
    counts: Sequence[int] = (),
) -> Placement:
    """Return a layout of replicas at these places."""
    numbers = list(counts) or [1] * len(tasks.tasks)
    elements = np.array([y * mesh.mesh.width + x for x, y in places])
    buffers = depths(tasks, numbers, [1 << 20] * len(numbers))
    return Placement(Replication(tasks, numbers), mesh, elements, buffers)


def with_ports(graph: TaskGraph, inputs: dict[str, int], outputs: dict[str, int]) -> TaskGraph:
    """Return a task graph with bytes of inputs and of outputs by task."""
    fields = graph.model_dump(by_alias=True)
    for task in fields["tasks"]:
        task |= {
            "input_bytes": inputs.get(task["name"], 0),
            "output_bytes": outputs.get(task["name"], 0),
        }
    return TaskGraph.model_validate(fields)


def stages_of(network: Network, stages: int | None, npu: str | None) -> TaskGraph:
    """Return a network as a task graph of stages."""
    return task_graph(network, stages, estimated_cycles(network, npu))


def random_graph(rng: random.Random, tasks: int, longest: int = 40) -> TaskGraph:
    """Return a graph in which every task but the first receives from one or two earlier ones."""
    names = [f"t{i}" for i in range(tasks)]
    edges = {
        (names[i], names[j]): rng.randint(0, longest)
        for j in range(1, tasks)
        for i in {rng.randrange(j), rng.randrange(j)}
    }
    return graph({name: rng.randint(1, longest) for name in names}, edges)
