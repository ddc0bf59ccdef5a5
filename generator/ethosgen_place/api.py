"""Placements for scripts and notebooks: `ethosgen.place`."""

import os
from pathlib import Path

from ethosgen.api.networks import NetworkLike, files_of
from ethosgen.api.progress import watch_of
from ethosgen.values.watch import Announce
from ethosgen_place.files import mesh_of
from ethosgen_place.placement import PlacementRequest, Splitting
from ethosgen_place.placement import place as run
from ethosgen_place.placer import Goal
from ethosgen_place.report import PlacementReport

PathLike = str | os.PathLike[str]


def place(
    source: NetworkLike,
    *,
    mesh: tuple[int, int] | None = None,
    elements: PathLike | None = None,
    stages: int | None = None,
    npu: str | None = None,
    split: Splitting = "auto",
    replicas: int | None = None,
    goal: Goal = "throughput",
    mapping: PathLike | None = None,
    output: PathLike | None = None,
    graph_output: PathLike | None = None,
    parts: PathLike | None = None,
    plot: PathLike | None = None,
    samples: int | None = None,
    seed: int = 0,
    announce: Announce | None = None,
) -> PlacementReport:
    """Place a task graph or a network on a mesh of elements, and simulate it: `ethosgen place`.

    `as_json()` of the report is what the command prints with --json. ToolError without the packages
    of the extra place.

    Args:
        source: a network, or the path of a task graph (.json).
        mesh: the width and the height of the mesh.
        elements: the file that describes the elements (.toml).
        stages: the number of stages that a network is cut into.
        npu: the NPU of each element, such as "ethos-u55-128".
        split: "auto" cuts operators that do not fit an element into parts, and for the goal
            "latency" also others; "always" cuts all that can be, "off" none.
        replicas: the replicas of each task that states none itself, by default as many as make the
            whole faster.
        goal: "throughput", or "latency" for a sample alone, with one element for each task.
        mapping: the file with a placement of your own, which is judged instead of ours.
        output: the file with the placement to write.
        graph_output: the file with the task graph to write.
        parts: the file with the network of the parts of operators to write (.tflite).
        plot: the picture (.svg), or a page with it and figures (.html), to write.
        samples: the number of samples that the simulation runs.
        seed: the seed of the placement.
        announce: receives a line for each phase, such as `print`.
    """
    with files_of([source]) as ((path,), reading):
        request = PlacementRequest(
            path,
            None if mesh is None else mesh_of(*mesh),
            _path(elements),
            *(stages, npu, split, replicas, goal),
            *(_path(mapping), _path(output), _path(graph_output), _path(parts), _path(plot)),
            *(samples, seed, reading),
        )
        return run(request, watch_of(announce))


def _path(name: PathLike | None) -> Path | None:
    return None if name is None else Path(name)
