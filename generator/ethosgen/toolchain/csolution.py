"""Builds a project for CMSIS-Toolbox with its cbuild, if it is installed."""

import shutil
from pathlib import Path

from ethosgen.host.file_errors import require_writable
from ethosgen.host.tools import CBUILD
from ethosgen.toolchain.build_steps import run_step
from ethosgen.toolchain.sizes import Built, measure_elf
from ethosgen.values.errors import BuildError

_SOLUTION = "firmware.csolution.yml"


def build_csolution(directory: Path, on: str) -> Built:
    """Compile the Release of the target type `on` into the folder that every platform uses.

    ToolError, with an alternative, if cbuild is missing.
    """
    source = directory.absolute()
    # cbuild also writes next to the solution, not only into build/.
    require_writable(source, "copy the project to a writable place")
    cbuild = CBUILD.find()
    context = f"firmware.Release+{on}"
    run_step([str(cbuild), str(source / _SOLUTION), "--packs", "--context", context], directory)
    built = source / "out" / "firmware" / on / "Release" / "firmware.elf"
    if not built.is_file():
        raise BuildError(f"cbuild produced no '{built}'")
    elf = source / "build" / on / "firmware.elf"
    elf.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(built, elf)
    return Built(elf, on, measure_elf(elf))
