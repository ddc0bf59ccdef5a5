"""Blanks of a board file: facts for the user to fill in, written as "?"."""

from collections.abc import Iterator
from typing import Any

from ethosgen.toml.lines import find_line
from ethosgen.values.grammar import counted

BLANK = "?"
"""The placeholder for a fact to fill in."""


def blank_fields(facts: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each blank, in the file's order; for a blank in a list, the list's path."""
    if isinstance(facts, dict):
        for key, value in facts.items():
            yield from blank_fields(value, f"{path}.{key}" if path else key)
    elif isinstance(facts, list):
        if any(True for value in facts for _ in blank_fields(value)):
            yield path
    elif facts == BLANK:
        yield path


def ask_for_blanks(file: str, text: str, facts: Any) -> str | None:
    """Return a question that lists all blanks, with file, line, field and comment; None if none."""
    fields = list(blank_fields(facts))
    if not fields:
        return None
    lines = text.splitlines()
    asked = [f"board file '{file}' has {counted(len(fields), 'fact')} to fill in (\"{BLANK}\"):"]
    for field in fields:
        number = find_line(text, field)
        comment = lines[number - 1].partition("#")[2].strip() if number else ""
        asked.append(f"  {file}:{number}: {field}" + (f": {comment}" if comment else ""))
    return "\n".join(asked)
