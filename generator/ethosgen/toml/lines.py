"""Finds the lines of fields in a TOML file, which the parser does not report."""

import re
from typing import Any

_HEADER = re.compile(r"\s*\[(\[?)([^\[\]]+)\]{1,2}\s*(?:#.*)?$")
_KEY = re.compile(r"\s*([\w.\-]+)\s*=")


def find_line(text: str, field: str) -> int | None:
    """Return the line (from 1) of a dotted field, or of the innermost table that should hold it.

    The tables of an array are numbered from 0: operator.1.call.
    """
    places: dict[str, int] = {}
    table = ""
    counts: dict[str, int] = {}
    for number, content in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(content):
            table = re.sub(r"\s|\"", "", header[2])
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table += f".{counts[table]}"
            _note(places, table, number)
        elif key := _KEY.match(content):
            _note(places, f"{table}.{key[1]}" if table else key[1], number)
    parts = field.split(".")
    for length in range(len(parts), 0, -1):
        if line := places.get(".".join(parts[:length])):
            return line
    return None


def _note(places: dict[str, int], path: str, number: int) -> None:
    """Record the line where a path begins, and those of enclosing tables without a header."""
    parts: list[Any] = path.split(".")
    for length in range(1, len(parts) + 1):
        places.setdefault(".".join(parts[:length]), number)
