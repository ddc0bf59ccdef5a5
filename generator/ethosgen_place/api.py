"""Placements for scripts and notebooks: `ethosgen.place`."""

import os
from pathlib import Path

from ethosgen.api.networks import NetworkLike, files_of, watch_of
from ethosgen.values.watch import Announce
from ethosgen_place.files import mesh_of
from ethosgen_place.placement import PlacementRequest
from ethosgen_place.placement import place as run
from ethosgen_place.report import PlacementReport

PathLike = str | os.PathLike[str]


def place(
    source: NetworkLike,
    *,
    mesh: tuple[int, int] | None = None,
    elements: PathLike | None = None,
    stages: int | None = None,
    npu: str | None = None,
    replicas: int | None = None,
    mapping: PathLike | None = None,
    output: PathLike | None = None,
    graph_output: PathLike | None = None,
    picture: PathLike | None = None,
    samples: int | None = None,
    seed: int = 0,
    announce: Announce | None = None,
) -> PlacementReport:
    """Place a task graph or a network on a mesh of elements, and simulate it: `ethosgen place`.

    `source` is a network, or the path of a task graph (.json). `mesh` is its width and height.
    `replicas` are those of each task that does not say itself, by default as many as make the whole
    faster; `mapping` is judged instead of a placement of ours. `output`, `graph_output` and
    `picture` are written. `as_json()` of the report is what the command prints with --json.
    ToolError without the packages of the extra place.
    """
    with files_of([source]) as ((path,), reading):
        request = PlacementRequest(
            path,
            None if mesh is None else mesh_of(*mesh),
            _path(elements),
            stages,
            npu,
            replicas,
            _path(mapping),
            _path(output),
            _path(graph_output),
            _path(picture),
            samples,
            seed,
            reading,
        )
        return run(request, watch_of(announce))


def _path(name: PathLike | None) -> Path | None:
    return None if name is None else Path(name)
