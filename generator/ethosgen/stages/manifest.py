"""A pipeline on disk: its manifest, the network, and a project for each element."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosgen.values.errors import InputError
from ethosgen.values.handover import PIPELINE_FILE
from ethosgen.values.mesh import ElementMesh
from ethosgen.values.wiring import HOST
from ethosgen.version import __version__

MANIFEST = PIPELINE_FILE
FORMAT = 1
_SINCE_GRAPHS = frozenset({"handovers", "mesh"})
"""Fields that the first manifests, of the same format, do not have."""


@dataclass(frozen=True)
class ElementProject:
    """An element: the folder of its project, its stage, its board and its estimated cycles."""

    name: str
    stage: int
    board: str
    clock_hz: int
    cycles: int


@dataclass(frozen=True)
class HandoverFacts:
    """A hand-over between two stages, or the host (-1): the tensors' indices in the network.

    Its link carries `bytes_per_s`, with a latency; None is a line to the host.
    """

    sender: int
    receiver: int
    tensors: tuple[int, ...]
    bytes_per_s: float | None
    latency_s: float


@dataclass(frozen=True)
class Manifest:
    """A pipeline's ingredients; `boundaries` are the cuts in the network, both ends included.

    `source` is the network's file, of `file_format`. `window` is where shared memory for frames
    starts, and its size, `mesh` are the columns and rows of a mesh. `alone` is the folder of the
    whole network for the first element, or "" for the reason `why_not_alone`.
    """

    network: str
    source: str
    file_format: str
    reading: Mapping[str, Any]
    link: str
    boundaries: tuple[int, ...]
    elements: tuple[ElementProject, ...]
    handovers: tuple[HandoverFacts, ...]
    window: tuple[int, int] | None
    mesh: tuple[int, int] | None
    alone: str
    why_not_alone: str
    oracle: str | None = None

    @property
    def replicas(self) -> tuple[int, ...]:
        """The number of elements of each stage."""
        stages = [element.stage for element in self.elements]
        return tuple(stages.count(k) for k in range(len(self.boundaries) - 1))


def is_pipeline(directory: Path) -> bool:
    """Return whether a directory looks like a pipeline."""
    return (directory / MANIFEST).is_file()


def manifest_text(manifest: Manifest) -> bytes:
    """Return the manifest's file."""
    content = {
        "ethosgen": __version__,
        "format": FORMAT,
        **{name: getattr(manifest, name) for name in Manifest.__dataclass_fields__},
        "elements": [vars(element) for element in manifest.elements],
        "handovers": [vars(each) for each in manifest.handovers],
    }
    return (json.dumps(content, indent=1) + "\n").encode()


def open_manifest(directory: Path) -> Manifest:
    """Read a manifest; InputError if it is missing or damaged."""
    path = directory / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        if type(content["format"]) is not int:  # true and 1.0 equal 1
            raise TypeError("a format that is not an integer")
        if content["format"] != FORMAT:
            raise InputError(
                f"'{path}' has format {content['format']}, but this ethosgen reads {FORMAT}; "
                f"use ethosgen {content['ethosgen']}, or generate the pipeline again elsewhere"
            )
        if content.keys().isdisjoint(_SINCE_GRAPHS) and "window" in content:
            raise InputError(
                f"'{path}' is from an ethosgen that could not hand over along a graph; generate "
                "the pipeline again elsewhere, and copy your applications"
            )
        return _read(content)
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"'{path}' is damaged ({type(error).__name__}); generate the pipeline again elsewhere"
        ) from None


def _read(content: Mapping[str, Any]) -> Manifest:
    window, mesh = content["window"], content["mesh"]
    source = str(content["source"])
    elements = tuple(
        ElementProject(
            *(str(e["name"]), int(e["stage"]), str(e["board"]), int(e["clock_hz"])),
            int(e["cycles"]),
        )
        for e in content["elements"]
    )
    boundaries = tuple(map(int, content["boundaries"]))
    if list(boundaries) != sorted(set(boundaries)) or len(boundaries) < len(["start", "end"]):
        raise ValueError("boundaries")
    stages = [element.stage for element in elements]
    if stages != sorted(stages) or set(stages) != set(range(len(boundaries) - 1)):
        raise ValueError("stages")
    if len({element.name for element in elements}) < len(elements):
        raise ValueError("two elements of one name")
    if min(element.clock_hz for element in elements) <= 0:
        raise ValueError("a clock")
    if mesh:
        place = ElementMesh(int(mesh[0]), int(mesh[1]), len(elements))
        if not place.least <= place.count <= place.most:
            raise ValueError("a mesh of another size")
    for name in (source, *(element.name for element in elements)):
        if Path(name).name != name:
            raise ValueError("a path outside the pipeline")
    return Manifest(
        network=str(content["network"]),
        source=source,
        file_format=str(content["file_format"]),
        reading=dict(content["reading"]),
        link=str(content["link"]),
        boundaries=boundaries,
        elements=elements,
        handovers=tuple(_handover(each, len(boundaries) - 1) for each in content["handovers"]),
        window=(int(window[0]), int(window[1])) if window else None,
        mesh=(int(mesh[0]), int(mesh[1])) if mesh else None,
        alone=str(content["alone"]),
        why_not_alone=str(content["why_not_alone"]),
        oracle=content["oracle"],
    )


def _handover(content: Mapping[str, Any], stages: int) -> HandoverFacts:
    rate = content["bytes_per_s"]
    facts = HandoverFacts(
        int(content["sender"]),
        int(content["receiver"]),
        tuple(map(int, content["tensors"])),
        None if rate is None else float(rate),
        float(content["latency_s"]),
    )
    if not (HOST <= facts.sender < stages and HOST <= facts.receiver < stages):
        raise ValueError("the ends of a hand-over")
    if not math.isfinite(facts.latency_s) or facts.latency_s < 0:
        raise ValueError("a latency")
    if facts.bytes_per_s is not None and not 0 < facts.bytes_per_s < math.inf:
        raise ValueError("a rate")
    return facts
