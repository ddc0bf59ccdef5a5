"""Builds a program for Linux with cmake, ninja and a cross compiler, and measures its sizes."""

import shlex
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from ethosgen.host.tools import linux_gcc
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain.build_steps import compile_configured, configure
from ethosgen.toolchain.sizes import Built, Sizes
from ethosgen.values.errors import BuildError, InputError

PROGRAM = "program"
"""The program's file in its build folder."""
_WEIGHTS = ".ethosgen_weights."
_SHARED_ARENA = "ethosgen_arena"


def build_linux(
    info: ProjectInfo, on: str = "qemu", options: Mapping[str, str] | None = None
) -> Built:
    """Compile a project into DIR/build/ON.

    `options` are CMake cache variables. ToolError if a program is missing, BuildError with the
    compiler's message.
    """
    assert info.board.linux is not None  # boards of the platform have it
    source = info.directory.absolute()
    place = source / "build" / on
    variables = {
        "CMAKE_TOOLCHAIN_FILE": str(source / "cmake" / "linux.cmake"),
        "CMAKE_C_COMPILER": str(linux_gcc(info.board.linux.compiler).find()),
        **(options or {}),
    }
    configure(info.directory, place, variables)
    compile_configured(info.directory, place)
    program = place / PROGRAM
    if not program.is_file():
        raise BuildError(f"the build of '{info.directory}' produced no {PROGRAM} in '{place}'")
    return Built(program, on, measure_program(program, info.names))


def find_linux(info: ProjectInfo, on: str, target: str) -> Built:
    """Return the program that `build_linux` built; InputError if there is none.

    `target` is the --on that builds it.
    """
    program = info.directory / "build" / on / PROGRAM
    if not program.is_file():
        raise InputError(
            f"'{info.directory}' was not built for {target} yet; run: ethosgen build "
            f"{shlex.quote(str(info.directory))} --on {target}"
        )
    return Built(program, on, measure_program(program, info.names))


def measure_program(program: Path, networks: Sequence[str]) -> Sizes:
    """Return the sizes of a program for Linux, including a static C library.

    The arena is in .bss: Linux's linker scripts do not separate it. InputError if the file is not
    an ELF.
    """
    arenas = {_SHARED_ARENA, *(f"{name}_arena" for name in networks)}
    try:
        with program.open("rb") as file:
            parsed = ELFFile(file)
            sections = [
                (s.name, s["sh_size"], s["sh_flags"], s["sh_type"] == "SHT_NOBITS")
                for s in parsed.iter_sections()
                if s["sh_flags"] & SH_FLAGS.SHF_ALLOC
            ]
            arena = _symbol_bytes(parsed, arenas)
    except (OSError, ELFError) as error:
        raise InputError(f"cannot read program '{program}': {error}") from None
    loaded = [(name, size, flags) for name, size, flags, is_zero in sections if not is_zero]
    total = sum(size for _, size, _ in loaded)
    code = sum(size for _, size, flags in loaded if flags & SH_FLAGS.SHF_EXECINSTR)
    weights = sum(size for name, size, _ in loaded if name.startswith(_WEIGHTS))
    return Sizes(
        flash={
            "total": total,
            "code": code,
            "constants": total - code - weights,
            "weights": weights,
        },
        ram={
            "total": sum(size for _, size, flags, _ in sections if flags & SH_FLAGS.SHF_WRITE),
            "arena": arena,
        },
        library={},
    )


def _symbol_bytes(parsed: ELFFile, names: Set[str]) -> int:
    """Return the bytes of all variables with those names."""
    tables = [
        section for section in parsed.iter_sections() if isinstance(section, SymbolTableSection)
    ]
    return sum(
        symbol["st_size"]
        for table in tables
        for symbol in table.iter_symbols()
        if symbol.name in names and symbol["st_info"]["type"] == "STT_OBJECT"
    )
