"""C structs that are declared in Python: their declarations, their initializers, their bytes."""

import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Annotated, get_args, get_type_hints

import pytest

from ethosgen.aot.tir.structs import (
    Struct,
    Unsigned,
    declaration,
    definition,
    structs_of,
    with_declarations,
)
from ethosgen.values.errors import InternalError
from tests.support.kernel_files import headers
from tests.support.needs import needs_gcc


class Inner(Struct, name="toy_inner"):
    """A part."""

    low: Annotated[int, "the least"]
    high: int


class Outer(Struct, name="toy_outer"):
    """A whole.

    It has parts.
    """

    first: Annotated[Unsigned, "all bits"]
    parts: Annotated[tuple[Inner, Inner], "both"]
    scale: tuple[int, int, int]


INNER = Inner(low=-3, high=4)
DECLARED = """\
/*
 * A whole.
 *
 * It has parts.
 */
struct toy_outer {
    uint32_t first;            /* all bits */
    struct toy_inner parts[2]; /* both */
    int32_t scale[3];
};"""


def test_a_declaration_has_the_comments() -> None:
    assert declaration(Outer) == DECLARED
    header = "#define A\n\n/* @struct toy_outer */\n"
    assert with_declarations(header) == f"#define A\n\n{DECLARED}\n"


def test_an_initializer_names_the_members() -> None:
    assert definition(structs_of([INNER]), "part") == (
        "extern const struct toy_inner part;\n"
        "const struct toy_inner part = {\n    .low = -3, .high = 4,\n};\n"
    )
    assert definition(structs_of([INNER, INNER]), "parts") == (
        "extern const struct toy_inner parts[2];\nconst struct toy_inner parts[2] = {\n"
        "    {.low = -3, .high = 4},\n    {.low = -3, .high = 4},\n};\n"
    )


def test_two_structs_of_one_name_are_a_bug() -> None:
    with pytest.raises(InternalError, match="are both toy_inner in C"):
        type("Other", (Struct,), {}, name="toy_inner")


def test_an_array_has_as_many_elements_as_declared() -> None:
    wrong = Outer(first=1, parts=(INNER, INNER), scale=(1, 2))  # type: ignore[arg-type]
    with pytest.raises(InternalError, match="an array of 3 gets 2 elements"):
        structs_of([wrong])


def _numbered(declared: type[Struct], start: int = 1) -> Struct:
    """Return a struct in which each member has another value."""
    values, number = {}, start
    hints = get_type_hints(declared)
    for place, field in enumerate(fields(declared)):  # type: ignore[arg-type]
        kinds = get_args(hints[field.name]) or (hints[field.name],)
        numbers = [
            number + place + n if kind is int else _numbered(kind, 100 * (number + place + n))
            for n, kind in enumerate(kinds)
        ]
        values[field.name] = tuple(numbers) if get_args(hints[field.name]) else numbers[0]
        number += len(kinds)
    return declared(**values)


@needs_gcc
def test_the_compiler_sees_the_bytes_of_every_struct(tmp_path: Path) -> None:
    files = headers()
    for header, text in files.items():
        (tmp_path / header).write_text(text)
    ours = [declared for name, declared in Struct.declared.items() if name.startswith("ethosgen_")]
    assert len(ours) > 40
    everything = "".join(files.values())
    assert all(everything.count(f"\nstruct {declared.c_name} {{") == 1 for declared in ours)
    arrays = {f"v{n}": structs_of([_numbered(declared)] * 2) for n, declared in enumerate(ours)}
    lines = ["#include <stdio.h>"]
    names = ("kernels", "core", "dsp", "thumb", "floats")
    lines += [f'#include "ethosgen_{name}.h"' for name in names]
    lines += [definition(structs, name) for name, structs in arrays.items()]
    lines.append("int main(void)\n{")
    lines += [f"    fwrite({name}, 1, sizeof {name}, stdout);" for name in arrays]
    (tmp_path / "main.c").write_text("\n".join([*lines, "    return 0;\n}\n"]))
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    program = str(tmp_path / "main")
    subprocess.run(["gcc", *flags, "-o", program, str(tmp_path / "main.c")], check=True)
    written = subprocess.run([program], capture_output=True, check=True).stdout
    assert written == b"".join(structs.data for structs in arrays.values())
