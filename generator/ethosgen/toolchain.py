"""Building a project: cmake, ninja and arm-none-eabi-gcc; and the sizes of what comes out."""

import logging
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.errors import BuildError, CapacityError, InputError
from ethosgen.tools import CMAKE, GCC, NINJA

_LOG = logging.getLogger(__name__)

_TIMEOUT_S = 600
_SAID_LINES = 20
_OVERFLOW = re.compile(r"region `(\w+)' overflowed by (\d+) bytes")
_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_COMMANDS = ".ethosgen_commands"
_WEIGHTS = ".ethosgen_weights"
_ARENA = ".ethosgen_arena"
_IO = ".ethosgen_io"
_LIBRARY_CODE = ".model_text"
_LIBRARY_CONSTANTS = ".model_rodata"
_LIBRARY_DATA = ".model_bss"


@dataclass(frozen=True)
class Sizes:
    """What a firmware takes, in bytes.

    `flash` and `ram` are by category, `total` among them. In `flash`, constants are vectors, string
    and table constants, and initial values of variables. In `ram`, io is what the application owns
    beside the arena (none with --io arena, whose buffers the arena holds); total includes static
    data and the stack's reservation. `library` is the share of the model library and its driver,
    beside command streams, weights and arena: code, constants, data.
    """

    flash: Mapping[str, int]
    ram: Mapping[str, int]
    library: Mapping[str, int]


@dataclass(frozen=True)
class Built:
    """A firmware, ready to run."""

    elf: Path
    on: str
    sizes: Sizes


def build(directory: Path, on: str = "qemu", options: Mapping[str, str] | None = None) -> Built:
    """Compile a project into DIR/build/ON.

    `options` are CMake's cache variables, ETHOSU_CORE_DRIVER for instance. ToolError if a program
    is missing, CapacityError if a memory is too small, BuildError with the compiler's words.
    """
    cmake, gcc, ninja = CMAKE.find(), GCC.find(), NINJA.find()
    source = directory.absolute()
    if not (source / "CMakeLists.txt").is_file():
        raise InputError(f"'{directory}' is no project: it has no CMakeLists.txt")
    place = source / "build" / on
    variables = {
        "CMAKE_TOOLCHAIN_FILE": str(source / "cmake" / "arm-none-eabi.cmake"),
        "CMAKE_C_COMPILER": str(gcc),
        "CMAKE_MAKE_PROGRAM": str(ninja),
        "ETHOSGEN_ON": on,
        **(options or {}),
    }
    configure = [str(cmake), "-G", "Ninja", "-S", str(source), "-B", str(place)]
    _run([*configure, *(f"-D{name}={value}" for name, value in variables.items())], directory)
    _run([str(cmake), "--build", str(place)], directory)
    elf = place / "firmware.elf"
    if not elf.is_file():
        raise BuildError(f"building '{directory}' left no {elf.name} in '{place}'")
    return Built(elf, on, measure_elf(elf))


def find_built(directory: Path, on: str = "qemu") -> Built:
    """Return the firmware that `build` left; InputError if there is none, with what to do."""
    elf = directory / "build" / on / "firmware.elf"
    if not elf.is_file():
        raise InputError(
            f"'{directory}' was not built for {on} yet; run: ethosgen build {directory} --on {on}"
        )
    return Built(elf, on, measure_elf(elf))


def measure_elf(elf: Path) -> Sizes:
    """Return what a firmware takes, by the sections of its linker script.

    InputError if the file is no ELF.
    """
    try:
        with elf.open("rb") as file:
            sections = [
                (section.name, section["sh_size"], section["sh_flags"], section["sh_type"])
                for section in ELFFile(file).iter_sections()
                if section["sh_flags"] & SH_FLAGS.SHF_ALLOC
            ]
    except (OSError, ELFError) as error:
        raise InputError(f"cannot read firmware '{elf}': {error}") from None
    size = {name: bytes_ for name, bytes_, _, _ in sections}
    loaded = {name: (b, flags) for name, b, flags, kind in sections if kind != "SHT_NOBITS"}
    total = sum(b for b, _ in loaded.values())
    code = sum(b for b, flags in loaded.values() if flags & SH_FLAGS.SHF_EXECINSTR)
    commands, weights = size.get(_COMMANDS, 0), size.get(_WEIGHTS, 0)
    return Sizes(
        flash={
            "total": total,
            "code": code,
            "constants": total - code - commands - weights,
            "command_streams": commands,
            "weights": weights,
        },
        ram={
            "total": sum(b for _, b, flags, _ in sections if flags & SH_FLAGS.SHF_WRITE),
            "arena": size.get(_ARENA, 0),
            "io": size.get(_IO, 0),
        },
        library={
            "code": size.get(_LIBRARY_CODE, 0),
            "constants": size.get(_LIBRARY_CONSTANTS, 0),
            "data": size.get(_LIBRARY_DATA, 0),
        },
    )


def _run(command: list[str], directory: Path) -> None:
    _LOG.info("%s", " ".join(command))
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except OSError as error:
        raise BuildError(f"cannot start '{command[0]}': {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise BuildError(f"building '{directory}' did not end within {_TIMEOUT_S} s") from None
    said = done.stdout.decode(errors="replace")
    _LOG.debug("%s", said)
    if done.returncode != 0:
        raise _explain(said, directory)


def _explain(said: str, directory: Path) -> BuildError | CapacityError:
    overflows = _OVERFLOW.findall(said)
    if overflows:
        what = " and ".join(f"memory '{m.lower()}' by {int(b):,} bytes" for m, b in overflows)
        return CapacityError(f"the firmware in '{directory}' overflows {what}")
    lines = [line for line in said.splitlines() if line.strip()]
    first = next((i for i, line in enumerate(lines) if _ERROR.search(line)), -_SAID_LINES)
    words = "\n".join(lines[first:][:_SAID_LINES])
    return BuildError(f"the project in '{directory}' does not build:\n{words}")
