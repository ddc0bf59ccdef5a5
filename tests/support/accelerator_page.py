"""Writes docs/accelerator.schema.json, and the tables of fields in docs/accelerators.md.

python -m tests.support.accelerator_page
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ethosgen.backend import wrapped_schema
from tests import ROOT
from tests.support.pages import between
from tests.support.pages import table as table_of

PAGE = ROOT / "docs" / "accelerators.md"
SCHEMA = ROOT / "docs" / "accelerator.schema.json"
START, END = "<!-- fields: start -->", "<!-- fields: end -->"
ADVICE = "run: python -m tests.support.accelerator_page"
TABLES = {
    "": "Declaration",
    "[[operator]]": "DeclaredOperation",
    "[memory]": "MemoryDemands",
    "[memory.local]": "LocalMemory",
    "[device]": "DeclaredDevice",
    "[device.verilog]": "DeclaredVerilog",
    "[device.boards.NAME]": "DeclaredPlace",
    "[external]": "External",
}
"""The tables of the file in the page's order, by their header, and their names in the schema."""


def with_fields(page: str) -> str:
    """Return the page with the tables of fields as the schema has them."""
    return between(page, START, END, f"\n\n{fields()}\n")


def fields() -> str:
    """Return a table of fields for each table of the file."""
    schema = json.loads(wrapped_schema())
    assert set(TABLES.values()) == {*schema["$defs"], "Declaration"}
    return "\n".join(_table(header, name, schema) for header, name in TABLES.items())


def _table(header: str, name: str, schema: Mapping[str, Any]) -> str:
    table = schema if name == "Declaration" else schema["$defs"][name]
    title = f"`{header}`: {_lowered(table['description'])}" if header else "The file"
    return f"### {title}\n\n{table_of(('field', 'meaning', 'default'), _rows(table), 3)}\n"


def _rows(table: Mapping[str, Any]) -> Iterator[list[str]]:
    required = set(table.get("required", ()))
    for name, field in table["properties"].items():
        if "$ref" in json.dumps(field) and name in ("operator", "memory", "device", "external"):
            continue  # they have tables of their own
        default = "required" if name in required else _default(field)
        meaning = field["description"].replace("|", "\\|")
        yield [f"`{name}`", meaning, default]


def _default(field: Mapping[str, Any]) -> str:
    default = field.get("default")
    return f"`{json.dumps(default)}`" if default not in (None, "", [], {}) else ""


def _lowered(text: str) -> str:
    return (text[0].lower() + text[1:]).rstrip(".")


if __name__ == "__main__":
    PAGE.write_text(with_fields(PAGE.read_text()))
    SCHEMA.write_text(wrapped_schema())
