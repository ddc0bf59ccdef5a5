"""Builds a bare-metal project with cmake, ninja and arm-none-eabi-gcc."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from ethosgen.host.tools import CMAKE, GCC, NINJA
from ethosgen.toolchain.process import drop_foreign_build, run_step
from ethosgen.toolchain.sizes import Built, measure_elf
from ethosgen.values.errors import BuildError, InputError


def build(directory: Path, on: str = "qemu", options: Mapping[str, str] | None = None) -> Built:
    """Compile a project into DIR/build/ON.

    `options` are CMake cache variables, for example ETHOSU_CORE_DRIVER. ToolError if a program is
    missing, CapacityError if a memory is too small, BuildError with the compiler's message.
    """
    cmake, gcc, ninja = CMAKE.find(), GCC.find(), NINJA.find()
    source = directory.absolute()
    if not (source / "CMakeLists.txt").is_file():
        raise InputError(f"'{directory}' is not a project: it has no CMakeLists.txt")
    place = source / "build" / on
    variables = {
        "CMAKE_TOOLCHAIN_FILE": str(source / "cmake" / "arm-none-eabi.cmake"),
        "CMAKE_C_COMPILER": str(gcc),
        "CMAKE_MAKE_PROGRAM": str(ninja),
        "ETHOSGEN_ON": on,
        **(options or {}),
    }
    drop_foreign_build(source, place)
    configure = [str(cmake), "-G", "Ninja", "-S", str(source), "-B", str(place)]
    run_step([*configure, *(f"-D{name}={value}" for name, value in variables.items())], directory)
    run_step([str(cmake), "--build", str(place)], directory)
    elf = place / "firmware.elf"
    if not elf.is_file():
        raise BuildError(f"the build of '{directory}' produced no {elf.name} in '{place}'")
    return Built(elf, on, measure_elf(elf))


def find_built(
    directory: Path, on: str = "qemu", target: str | None = None, name: str = "firmware.elf"
) -> Built:
    """Return the firmware that `build` produced; InputError with the remedy if there is none.

    `target` is the --on that builds it, if different from `on`; `name` is the file's.
    """
    elf = directory / "build" / on / name
    if not elf.is_file():
        target = target or on
        raise InputError(
            f"'{directory}' was not built for {target} yet; run: ethosgen build "
            f"{shlex.quote(str(directory))} --on {target}"
        )
    return Built(elf, on, measure_elf(elf))
