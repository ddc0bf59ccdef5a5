"""Reads files of tables; an error is one sentence with the file, the line and the field."""

import json
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ethosgen.toml.faults import describe_fault
from ethosgen.values.errors import InputError

_SCHEMA_ADDRESS = "https://json-schema.org/draft/2020-12/schema"

Model = TypeVar("Model", bound=BaseModel)


def load_toml(path: Path, kind: str, model: type[Model]) -> Model:
    """Read a TOML file as a model; `kind` is the word for such a file in errors: "study"."""
    text, tables = read_toml(path, kind)
    return check_tables(tables, model, f"{kind} '{path}'", text)


def read_toml(path: Path, kind: str) -> tuple[str, dict[str, Any]]:
    """Read a TOML file; return its text and its tables."""
    text = read_text(path, kind)
    try:
        return text, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{kind} '{path}' is not TOML: {error}") from None


def read_text(path: Path, kind: str) -> str:
    """Return the text of a file in UTF-8, without a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {kind} '{path}': {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{kind} '{path}' is not text in UTF-8: {error}") from None


def check_tables(tables: Any, model: type[Model], file: str, text: str = "") -> Model:
    """Return tables as a model; InputError names `file`, the line in its TOML, and the field."""
    try:
        return model.model_validate(tables)
    except ValidationError as error:
        raise InputError(f"{file}{describe_fault(error, model, tables, text)}") from None


def schema_text(model: type[BaseModel], title: str, own_field: str = "") -> str:
    """Return the JSON schema of a kind of files, for editors.

    `own_field` is a field that the reader adds, and that no file has.
    """
    schema = {**model.model_json_schema(by_alias=True), "title": title}
    if own_field:
        schema["properties"].pop(own_field)
        schema["required"].remove(own_field)
    return json.dumps({"$schema": _SCHEMA_ADDRESS, **schema}, indent=1, sort_keys=True) + "\n"
