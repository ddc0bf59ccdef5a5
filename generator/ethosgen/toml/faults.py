"""Describes in one sentence the fault that a model finds in a file of tables."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from ethosgen.toml.lines import find_line
from ethosgen.values.grammar import counted, nearest

_LONGEST_VALUE = 40
_FIELD = re.compile(r"([a-z_]\w*(?:\.[\w-]+|\[\d+\])*): ")
_PART = re.compile(r"[\w-]+")
_MUST = re.compile(r"\w+ should ")
_MISTYPED = "_type"
"""The end of the kinds of errors that say that a value has another type."""
_WORDS = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "a text in quotes",
    "a valid boolean": "true or false",
    "a valid list": "a list in [brackets]",
    "a valid dictionary": "a table",
}
"""Our words for pydantic's types."""


def describe_fault(
    error: ValidationError, model: type[BaseModel], tables: Any, text: str = ""
) -> str:
    """Return ", line N: field: message" for the first fault.

    `tables` is the model's input, and `text` the TOML that it was read from. The model's own
    messages may begin with the field, as in "fpu: a cortex-m3 has none".
    """
    faults: list[dict[str, Any]] = [
        {**fault, "loc": _place(tables, fault)} for fault in error.errors()
    ]
    own = [fault for fault in faults if fault["loc"][: len(faults[0]["loc"])] == faults[0]["loc"]]
    # Of a field that may have one of several types, errors of the type that it has say most.
    deepest = max(own, key=lambda f: len(f["loc"]))
    fault = next((f for f in own if not f["type"].endswith(_MISTYPED)), deepest)
    parts = [str(part) for part in fault["loc"]]
    message = describe_error(fault, model)
    types = dict.fromkeys(_wanted(f) for f in own if f["loc"] == fault["loc"])
    if fault["type"].endswith(_MISTYPED) and len(types) > 1:
        message = f"it must be {' or '.join(types)}, but is {_found(fault)}"
    if fault["type"] == "value_error" and (named := _FIELD.match(message)):
        parts += _PART.findall(named[1])
        message = message[named.end() :]
    owner = None if parts[-1:] == ["name"] else next(_names(tables, parts), None)
    of = f" ({shortened(owner)!r})" if owner else ""
    return f"{describe_place(text, parts)}{of}: {message}"


def describe_place(text: str, parts: Sequence[str]) -> str:
    """Return ", line N: operator[1].call" for a field of a TOML file."""
    line = find_line(text, ".".join(parts))
    path = "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in parts)
    return (f", line {line}" if line else "") + (f": {path.lstrip('.')}" if path else "")


def describe_error(fault: Mapping[str, Any], model: type[BaseModel]) -> str:
    """Return one of pydantic's errors in words, without the place."""
    kind, message = fault["type"], str(fault["msg"])
    limits = fault.get("ctx", {})
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "missing":
        return "it is missing; add it"
    if kind == "extra_forbidden":
        fields = sorted(set(_fields(model.model_json_schema(by_alias=True))))
        return f"there is no such field{nearest(str(fault['loc'][-1]), fields)}; remove it"
    if kind == "too_short" and not limits["actual_length"]:
        return "it is empty; name at least one"
    if kind == "too_short":
        fewest = counted(limits["min_length"], "item")
        return f"it must have at least {fewest}, but has {limits['actual_length']}"
    is_type = kind.endswith(_MISTYPED)
    message = f"be {_wanted(fault)}" if is_type else _MUST.sub("", message, count=1)
    if not message.startswith(("be ", "have ", "match ")):
        message = f"be {message}"
    return f"it must {message}, but is {_found(fault)}"


def _wanted(fault: Mapping[str, Any]) -> str:
    """Return the type that a value must have."""
    words = _MUST.sub("", str(fault["msg"]), count=1).removeprefix("be ")
    return next((ours for theirs, ours in _WORDS.items() if words.startswith(theirs)), words)


def _found(fault: Mapping[str, Any]) -> str:
    return shortened(json.dumps(fault["input"], default=str))


def _place(tables: Any, fault: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Return the keys and numbers of a fault's place, without pydantic's names of types."""
    place: list[str | int] = []
    for part in fault["loc"]:
        is_key = part in tables if isinstance(tables, dict) else False
        is_number = isinstance(part, int) and isinstance(tables, list) and part < len(tables)
        if is_key or is_number:
            tables = tables[part]
            place.append(part)
    if fault["type"] == "missing":
        place.append(fault["loc"][-1])
    return tuple(place)


def shortened(text: str) -> str:
    """Return a text, or its start with an ellipsis if it is long."""
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _names(tables: Any, parts: Sequence[str]) -> Iterator[str]:
    """Yield the names of the tables around a field, the innermost first."""
    inside = []
    for part in parts:
        try:
            tables = tables[int(part) if isinstance(tables, list) else part]
        except (KeyError, IndexError, TypeError, ValueError):
            continue
        if isinstance(tables, dict) and isinstance(tables.get("name"), str):
            inside.append(tables["name"])
    yield from reversed(inside)


def _fields(schema: Any) -> Iterator[str]:
    """Yield the names of all fields in a schema."""
    if isinstance(schema, list):
        for part in schema:
            yield from _fields(part)
    elif isinstance(schema, dict):
        yield from schema.get("properties", {})
        for part in schema.values():
            yield from _fields(part)
