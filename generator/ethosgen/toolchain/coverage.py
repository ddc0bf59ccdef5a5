"""Builds a firmware that counts the executed code of its libraries, and reads its counts with gcov.

coverage.cmake adds the counters to the project's own build, and coverage.c writes them to a file
when the firmware ends. The firmware that counts is not the one that ships: it is larger and slower.
"""

import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from ethosgen.host.tools import GCC, CommandError, Tool, run_command
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain.baremetal import build
from ethosgen.values.coverage import CodeCoverage, Statement, merged
from ethosgen.values.errors import BuildError, CapacityError, TargetError, ToolError

_SOURCE = Path(__file__).with_suffix(".c")
_CMAKE = Path(__file__).with_suffix(".cmake")
_LIMIT_S = 60.0
_RECORD = struct.Struct("<cI")
_NAME, _DATA = b"F", b"D"
_LIBRARY = "model"
"""The folder of a project that has its libraries."""
_FUNCTION, _INLINED = "DW_TAG_subprogram", "DW_TAG_inlined_subroutine"

GCOV = Tool("arm-none-eabi-gcov", "ETHOSGEN_GCOV", "reads what GCC's counters hold")


def find_gcov() -> Path:
    """Return the gcov of the compiler for Cortex-M; ToolError if it is missing."""
    compiler = GCC.find()
    beside = compiler.with_name(compiler.name.replace("gcc", "gcov"))
    if GCOV.variable not in os.environ and beside != compiler and os.access(beside, os.X_OK):
        return beside
    return GCOV.find()


def build_covered(info: ProjectInfo, variant: str, counts: Path) -> Path:
    """Compile a project with counters into its folder build/coverage; return the ELF.

    The firmware writes its counts to the file `counts` when it ends. CapacityError if there is no
    room for the counters, BuildError if the compiler's GCC is older than 12.
    """
    options = {
        "CMAKE_PROJECT_INCLUDE": str(_CMAKE),
        "ETHOSGEN_COVERAGE_SOURCE": str(_SOURCE),
        "ETHOSGEN_COVERAGE_FILE": str(counts),
    }
    try:
        return build(info.directory, variant, options, "coverage").elf
    except CapacityError as error:
        raise CapacityError(
            f"{error}, with the counters of --coverage; measure it on a larger board of the same "
            "processor",
            error.overflows,
        ) from None
    except BuildError as error:
        if "__gcov_info_to_gcda" in str(error):
            raise BuildError("--coverage needs GCC 12 or newer for Cortex-M") from None
        raise


def read_coverage(info: ProjectInfo, elf: Path, counts: Path) -> CodeCoverage:
    """Return the executed code of a project's libraries, from the file that the firmware wrote.

    TargetError if it wrote none, ToolError without gcov.
    """
    files = _write_counters(counts)
    if not files:
        raise TargetError("the firmware wrote no counts of its coverage when it ended")
    root = (info.directory / _LIBRARY).resolve()
    linked = _linked(elf)
    seen: list[Statement] = []
    kept: list[Statement] = []
    for report in read_gcov(find_gcov(), files):
        names = linked.get(Path(report["data_file"]).with_suffix("").name, set())
        own = list(statements_of(report, root))
        seen += own
        kept += (each for each in own if each.count or each.function in names)
    there = {(each.file, each.function) for each in kept}
    unlinked: dict[str, tuple[str, ...]] = {}
    for file, function in sorted({(each.file, each.function) for each in seen} - there):
        unlinked[file] = (*unlinked.get(file, ()), function)
    return CodeCoverage(merged(kept), unlinked)


def read_gcov(gcov: Path, counters: list[Path]) -> Iterator[Mapping[str, Any]]:
    """Yield gcov's output for each file of counters, with its .gcno in the same folder."""
    for path in counters:
        try:
            text = run_command([str(gcov), "-b", "-j", "-t", str(path)], _LIMIT_S)
        except CommandError as error:
            raise ToolError(f"cannot read the counts of '{path.name}': {error}") from None
        yield from (json.loads(line) for line in text.splitlines() if line.startswith("{"))


def statements_of(report: Mapping[str, Any], root: Path) -> Iterator[Statement]:
    """Yield the statements of the files below a folder; gcov's paths are relative to its own."""
    place = Path(report["current_working_directory"])
    for file in report["files"]:
        path = (place / file["file"]).resolve()
        if not path.is_relative_to(root):
            continue
        name = path.relative_to(root).as_posix()
        for line in file["lines"]:
            branches = tuple(branch["count"] for branch in line["branches"])
            function = line.get("function_name", "")
            yield Statement(name, function, line["line_number"], line["count"], branches)


def _write_counters(counts: Path) -> list[Path]:
    """Write the files of counters to the compiler's places; return them."""
    contents: dict[Path, bytearray] = {}
    name: Path | None = None
    for letter, data in _records(counts):
        if letter == _NAME:
            name = Path(data.decode())
            contents[name] = bytearray()
        elif letter == _DATA and name is not None:
            contents[name] += data
    for path, content in contents.items():
        path.write_bytes(content)
    return list(contents)


def _records(counts: Path) -> Iterator[tuple[bytes, bytes]]:
    data = counts.read_bytes() if counts.is_file() else b""
    place = 0
    while place + _RECORD.size <= len(data):
        letter, size = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        yield letter, data[place : place + size]
        place += size


def _linked(elf: Path) -> dict[str, set[str]]:
    """Return the functions of each file of C that are in a firmware, alone or inlined.

    A function that the linker has left out, or a weak one that another replaces, has address 0.
    """
    functions: dict[str, set[str]] = {}
    with elf.open("rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            top = unit.get_top_DIE()
            names = functions.setdefault(Path(top.get_full_path()).name, set())
            for die in top.iter_children():
                if die.tag == _FUNCTION and _is_placed(die):
                    names.update(_names(die))
    return functions


def _is_placed(die: DIE) -> bool:
    low = die.attributes.get("DW_AT_low_pc")
    return "DW_AT_ranges" in die.attributes or (low is not None and low.value != 0)


def _names(die: DIE) -> Iterator[str]:
    """Yield the name of a function, and of those that are inlined in it."""
    if die.tag in (_FUNCTION, _INLINED):
        origin = die
        while "DW_AT_abstract_origin" in origin.attributes:
            origin = origin.get_DIE_from_attribute("DW_AT_abstract_origin")
        if name := origin.attributes.get("DW_AT_name"):
            yield name.value.decode()
    for child in die.iter_children():
        yield from _names(child)
