"""Reads and writes the files: task graphs and placements as JSON, systems as TOML or JSON.

An error is one sentence with the file and the place in it. Nothing half-written is left.
"""

import json
import os
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from ethosgen.mesh.graph import Table, TaskGraph
from ethosgen.mesh.mapping import Mapped
from ethosgen.mesh.system import Mesh, System
from ethosgen.values.errors import InputError, cannot_write
from ethosgen.values.grammar import nearest
from ethosgen.values.toml_lines import find_line

SCHEMAS: Mapping[str, tuple[type[Table], str]] = {
    "graph": (TaskGraph, "task graph"),
    "mapping": (Mapped, "mapping"),
    "elements": (System, "elements file"),
}
"""The formats by name, each with what such a file is called."""

_SCHEMA_ADDRESS = "https://json-schema.org/draft/2020-12/schema"
_LONGEST_VALUE = 40

Read = TypeVar("Read", bound=Table)


def read_graph(path: Path) -> TaskGraph:
    """Read a task graph; its name is the file's unless it has one."""
    graph = _read("graph", TaskGraph, path, _json(path, "task graph"))
    return graph if graph.name else graph.model_copy(update={"name": path.stem})


def read_mapping(path: Path) -> Mapped:
    """Read a placement that ethosgen or another mapper wrote."""
    return _read("mapping", Mapped, path, _json(path, "mapping"))


def read_system(path: Path | None, mesh: Mesh | None) -> System:
    """Read a system, or make one of usual elements; `mesh` is the size that the user asked for."""
    if path is None:
        if mesh is None:
            raise InputError("the size of the mesh is missing; pass --mesh, such as 192x38")
        return System(mesh=mesh)
    text, given = "", None
    if path.suffix == ".toml":
        text = _text(path, "elements file")
        try:
            given = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InputError(f"elements file '{path}' is not TOML: {error}") from None
    else:
        given = _json(path, "elements file")
    if isinstance(given, dict) and mesh is not None:
        asked = mesh.model_dump()
        if given.setdefault("mesh", asked) != asked:
            raise InputError(
                f"elements file '{path}' describes another mesh than --mesh {mesh}; "
                "correct one of them, or omit --mesh"
            )
    return _read("elements", System, path, given, text)


def mesh_of(width: int, height: int) -> Mesh:
    """Return a mesh; InputError if that is no size."""
    try:
        return Mesh(width=width, height=height)
    except ValidationError as error:
        fault = error.errors()[0]
        place = "".join(f"{part}: " for part in fault["loc"])
        raise InputError(f"--mesh {width}x{height}: {place}{_wrong(fault, Mesh)}") from None


def write_graph(graph: TaskGraph) -> str:
    """Return a task graph's file, a line for each task and edge."""
    content = graph.model_dump(by_alias=True, exclude_defaults=True)
    return _lines({**content, "edges": content.get("edges", ())}, ("tasks", "edges"))


def write_mapping(mapped: Mapped) -> str:
    """Return a mapping's file, a line for each task."""
    return _lines(mapped.model_dump(), ("tasks",))


def schema_text(name: str) -> str:
    """Return the JSON schema of a format."""
    model, title = SCHEMAS[name]
    schema = model.model_json_schema(by_alias=True)
    schema["title"] = f"ethosgen {title}"
    return json.dumps({"$schema": _SCHEMA_ADDRESS, **schema}, indent=1, sort_keys=True) + "\n"


def write_all(contents: Mapping[Path, str]) -> None:
    """Write files, all or none."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, content in contents.items():
            try:
                handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
                written.append((Path(name), path))
                with os.fdopen(handle, "w", encoding="utf-8") as file:
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
                [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items()]
                if isinstance(value, dict)
                else [json.dumps(one) for one in value]
            )
            left, right = "{}" if isinstance(value, dict) else "[]"
            text = f"{left}\n  " + ",\n  ".join(items) + f"\n {right}"
        else:
            text = json.dumps(value)
        parts.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _text(path: Path, kind: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {kind} '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{kind} '{path}' is not text in UTF-8: {error}") from None


def _json(path: Path, kind: str) -> Any:
    text = _text(path, kind)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{kind} '{path}' is not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"'{_short(name)}' occurs twice in one object")
        found[name] = value
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _read(name: str, model: type[Read], path: Path, given: Any, text: str = "") -> Read:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        kind = SCHEMAS[name][1]
        raise InputError(f"{kind} '{path}'{_first_fault(error, model, given, text)}") from None


def _first_fault(error: ValidationError, model: type[Table], given: Any, text: str) -> str:
    fault = error.errors()[0]
    place, owner, here = "", "", given
    loc = [part for part in fault["loc"] if not str(part).startswith("[")]
    for part in loc:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
        try:
            here = here[part]
        except (KeyError, IndexError, TypeError):
            continue
        if isinstance(here, dict) and isinstance(here.get("name"), str):
            owner = here["name"]
    line = find_line(text, ".".join(map(str, loc)))
    where = (f", line {line}" if line else "") + (f": {place}" if place else "")
    return f"{where}{f' ({_short(owner)!r})' if owner else ''}: {_wrong(fault, model)}"


def _wrong(fault: Any, model: type[Table]) -> str:
    """Return the error as words."""
    kind, given = fault["type"], fault["input"]
    if kind == "extra_forbidden":
        fields = sorted(_fields(model.model_json_schema(by_alias=True)))
        return f"there is no such field{nearest(str(fault['loc'][-1]), fields)}; remove it"
    if kind == "missing":
        return "it is missing; add it"
    if kind == "value_error":
        return str(fault["msg"]).removeprefix("Value error, ")
    said = str(fault["msg"])
    if said.startswith("Tuple should have at least 1 item"):
        return "it is empty; name at least one"
    said = said.removeprefix("Input should be ").removeprefix("Value should have ")
    return f"it must be {said}, but is {_short(json.dumps(given, default=str))}"


def _fields(schema: Any) -> set[str]:
    """Return the names of all fields in a schema."""
    if isinstance(schema, list):
        return set().union(*map(_fields, schema))
    if not isinstance(schema, dict):
        return set()
    own = schema.get("properties", {})
    return set(own) | set().union(*map(_fields, schema.values()))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
