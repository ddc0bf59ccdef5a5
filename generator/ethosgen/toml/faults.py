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


def describe_fault(
    error: ValidationError, model: type[BaseModel], tables: Any, text: str = ""
) -> str:
    """Return ", line N: field: message" for the first fault.

    `tables` is the model's input, and `text` the TOML that it was read from. The model's own
    messages may begin with the field, as in "fpu: a cortex-m3 has none".
    """
    fault = error.errors()[0]
    parts = [str(part) for part in fault["loc"] if not str(part).startswith("[")]
    message = describe_error(fault, model)
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
    message = _MUST.sub("", message, count=1)
    if not message.startswith(("be ", "have ", "match ")):
        message = f"be {message}"
    return f"it must {message}, but is {shortened(json.dumps(fault['input'], default=str))}"


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
