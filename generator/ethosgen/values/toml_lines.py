"""Finds the lines of fields in a TOML file, which the parser does not report."""

import re
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"\s*\[(\[?)([^\[\]]+)\]{1,2}\s*(?:#.*)?$")
_FIELD = re.compile(r"([a-z_]\w*(?:\.[\w-]+)*): ")
_KEY = re.compile(r"\s*([\w.\-]+)\s*=")


def find_line(text: str, field: str) -> int | None:
    """Return the line (from 1) of a dotted field, or of the innermost table that should hold it.

    The tables of an array are numbered from 0: operator.1.call.
    """
    places: dict[str, int] = {}
    table = ""
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = re.sub(r"\s|\"", "", header[2])
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table += f".{counts[table]}"
            _note(places, table, number)
        elif key := _KEY.match(line):
            _note(places, f"{table}.{key[1]}" if table else key[1], number)
    parts = field.split(".")
    for length in range(len(parts), 0, -1):
        if found := places.get(".".join(parts[:length])):
            return found
    return None


def _note(places: dict[str, int], path: str, number: int) -> None:
    """Record the line where a path begins, and those of tables around it without a header."""
    parts: list[Any] = path.split(".")
    for length in range(1, len(parts) + 1):
        places.setdefault(".".join(parts[:length]), number)


def describe_fault(fault: Mapping[str, Any], text: str) -> str:
    """Return ", line N: field: message" for a fault that pydantic found in a TOML file's tables."""
    field = ".".join(str(part) for part in fault["loc"] if part != "[key]")
    message = str(fault["msg"]).removeprefix("Value error, ")
    if not field and (named := _FIELD.match(message)):
        field, message = named[1], message[named.end() :]
    elif fault["type"] == "value_error" and (named := _FIELD.match(message)):
        field, message = f"{field}.{named[1]}", message[named.end() :]
    line = find_line(text, field)
    where = f", line {line}" if line else ""
    return f"{where}: {field}: {message}" if field else f"{where}: {message}"
