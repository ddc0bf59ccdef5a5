"""Builds a bare-metal project with cmake, ninja and arm-none-eabi-gcc."""

import shlex
from collections.abc import Mapping
from pathlib import Path

from ethosgen.host.tools import GCC
from ethosgen.toolchain.build_steps import compile_configured, configure
from ethosgen.toolchain.sizes import Built, measure_elf
from ethosgen.values.errors import BuildError, InputError


def build(
    directory: Path,
    on: str = "qemu",
    options: Mapping[str, str] | None = None,
    folder: str = "",
) -> Built:
    """Compile a project into DIR/build/ON, or into another folder of DIR/build.

    `options` are CMake cache variables, for example ETHOSU_CORE_DRIVER. ToolError if a program is
    missing, CapacityError if a memory is too small, BuildError with the compiler's message.
    """
    source = directory.absolute()
    if not (source / "CMakeLists.txt").is_file():
        raise InputError(f"'{directory}' is not a project: it has no CMakeLists.txt")
    place = source / "build" / (folder or on)
    variables = {
        "CMAKE_TOOLCHAIN_FILE": str(source / "cmake" / "arm-none-eabi.cmake"),
        "CMAKE_C_COMPILER": str(GCC.find()),
        "ETHOSGEN_ON": on,
        **(options or {}),
    }
    configure(directory, place, variables)
    compile_configured(directory, place)
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
