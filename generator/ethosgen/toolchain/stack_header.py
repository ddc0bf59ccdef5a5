"""The header that tells an application how much stack its networks need.

It is in the build's folder, because the compiler and its flags decide; the networks' headers
include it from there.
"""

from collections.abc import Sequence
from pathlib import Path

from ethosgen.proof.stack import StackBound
from ethosgen.values.errors import InputError, cannot_write

FOLDER = "ethosgen"
"""In the build's folder; the project's CMakeLists.txt has it as an include directory."""
FILE = "ethosgen_stack.h"
_GUARD = "ETHOSGEN_STACK_H"
_OURS = " * Written by ethosgen; do not edit. */"
_MACRO = b"_STACK_BYTES"
_SOURCES = ("app", "application", "board", "src")
"""The folders of a project that are not generated again."""


def write_stack_header(elf: Path, bounds: Sequence[StackBound]) -> bool:
    """Write the bounds next to their firmware; return False if they are unchanged."""
    path = elf.parent / FOLDER / FILE
    text = _text(elf.name, bounds)
    try:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return False  # so that nothing is compiled again
        path.parent.mkdir(exist_ok=True)  # a project of an older ethosgen has none
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from None
    return True


def save_stack_header(path: Path, elf: Path, bounds: Sequence[StackBound]) -> None:
    """Write a firmware's header to the user's path.

    InputError for a file of other contents, or if it cannot be written.
    """
    try:
        if path.exists() and _OURS not in path.read_text(encoding="utf-8", errors="replace"):
            raise InputError(f"'{path}' exists, and ethosgen did not write it; name another file")
        path.write_text(_text(elf.name, bounds), encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from None


def uses_bounds(project: Path) -> bool:
    """Return whether one of the user's source files names a bound."""
    sources = (path for folder in _SOURCES for path in (project / folder).rglob("*.[ch]*"))
    return any(_MACRO in path.read_bytes() for path in sources if path.is_file())


def _text(name: str, bounds: Sequence[StackBound]) -> str:
    lines = [
        f"/* The most stack that each network's functions need in {name}, in bytes: their own,",
        " * all that they call, and the NPU's interrupt. Your interrupts come on top.",
        " *",
        _OURS,
        f"#ifndef {_GUARD}",
        f"#define {_GUARD}",
        "",
    ]
    for bound in bounds:
        if bound.need is None:
            lines.append(f"/* {bound.network}: unknown, because {bound.why} */")
        else:
            lines.append(f"/* {', '.join(bound.need.path)} */")
            lines.append(f"#define {bound.network.upper()}_STACK_BYTES {bound.need.bytes}u")
    return "\n".join([*lines, "", f"#endif /* {_GUARD} */", ""])
