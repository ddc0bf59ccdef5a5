"""Reads and writes the files: placements as JSON, systems as TOML or JSON; writes task graphs.

An error is one sentence with the file and the place in it. No file is left half-written.
"""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ethosgen.stages.task_graph import KIND, GraphTable, TaskGraph
from ethosgen.toml.faults import describe_error
from ethosgen.toml.files import check_tables, read_toml, schema_text
from ethosgen.toml.json_files import load_json, read_json
from ethosgen.values.errors import InputError, cannot_write
from ethosgen_place.mapping import Mapped
from ethosgen_place.system import Mesh, MeshSystem

_GRAPH, _MAPPING, _ELEMENTS = KIND, "mapping", "elements file"
SCHEMAS: Mapping[str, tuple[type[GraphTable], str]] = {
    "graph": (TaskGraph, _GRAPH),
    "mapping": (Mapped, _MAPPING),
    "elements": (MeshSystem, _ELEMENTS),
}
"""The formats by name, each with what such a file is called."""


def read_mapping(path: Path) -> Mapped:
    """Read a placement that ethosgen or another mapper wrote."""
    return load_json(path, _MAPPING, Mapped)


def read_system(path: Path | None, mesh: Mesh | None) -> MeshSystem:
    """Read a system, or make one of usual elements; `mesh` is the size that the user requested."""
    if path is None:
        if mesh is None:
            raise InputError("the size of the mesh is missing; pass --mesh, such as 192x38")
        return MeshSystem(mesh=mesh)
    if path.suffix == ".toml":
        text, content = read_toml(path, _ELEMENTS)
    else:
        text, content = "", read_json(path, _ELEMENTS)
    if isinstance(content, dict) and mesh is not None:
        asked = mesh.model_dump()
        if content.setdefault("mesh", asked) != asked:
            raise InputError(
                f"{_ELEMENTS} '{path}' describes another mesh than --mesh {mesh}; "
                "correct one of them, or omit --mesh"
            )
    return check_tables(content, MeshSystem, f"{_ELEMENTS} '{path}'", text)


def mesh_of(width: int, height: int) -> Mesh:
    """Return a mesh; InputError if that is not a size."""
    try:
        return Mesh(width=width, height=height)
    except ValidationError as error:
        fault = error.errors()[0]
        place = "".join(f"{part}: " for part in fault["loc"])
        raise InputError(f"--mesh {width}x{height}: {place}{describe_error(fault, Mesh)}") from None


def write_graph(graph: TaskGraph) -> str:
    """Return a task graph's file, a line for each task and edge."""
    content = graph.model_dump(by_alias=True, exclude_defaults=True)
    return _lines({**content, "edges": content.get("edges", ())}, ("tasks", "edges"))


def write_mapping(mapped: Mapped) -> str:
    """Return a mapping's file, a line for each task."""
    return _lines(mapped.model_dump(), ("tasks",))


def format_schema(name: str) -> str:
    """Return the JSON schema of a format."""
    model, kind = SCHEMAS[name]
    return schema_text(model, f"ethosgen {kind}")


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write files, all or none."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            try:
                handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
                written.append((Path(name), path))
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                Path(name).chmod(0o644)
                if path.is_dir():
                    raise IsADirectoryError(None, "it is a folder")
            except OSError as error:
                raise cannot_write(path, error) from None
        while written:
            Path(written[0][0]).replace(written[0][1])
            written.pop(0)
    finally:
        for left, _ in written:
            with suppress(OSError):
                left.unlink()


def _lines(content: Mapping[str, Any], long: Sequence[str]) -> str:
    """Return JSON with a line for each item of the long fields."""
    parts = []
    for key, value in content.items():
        if key in long and value:
            items = (
                [f"{json.dumps(name)}: {json.dumps(item)}" for name, item in value.items()]
                if isinstance(value, dict)
                else [json.dumps(item) for item in value]
            )
            left, right = "{}" if isinstance(value, dict) else "[]"
            text = f"{left}\n  " + ",\n  ".join(items) + f"\n {right}"
        else:
            text = json.dumps(value)
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"
