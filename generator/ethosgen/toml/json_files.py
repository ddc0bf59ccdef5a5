"""Users' JSON files: read strictly, and checked like tables."""

import json
from pathlib import Path
from typing import Any

from ethosgen.toml.faults import shortened
from ethosgen.toml.files import Model, check_tables, read_text
from ethosgen.values.errors import InputError


def load_json(path: Path, kind: str, model: type[Model]) -> Model:
    """Read a file and check it; InputError names the file and the place in it."""
    return check_tables(read_json(path, kind), model, f"{kind} '{path}'")


def read_json(path: Path, kind: str) -> Any:
    """Read a JSON file; InputError if it is not JSON, or repeats a name."""
    text = read_text(path, kind)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{kind} '{path}' is not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, value in pairs:
        if name in table:
            raise ValueError(f"'{shortened(name)}' occurs twice in one object")
        table[name] = value
    return table


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")
