"""Builds a project with its platform's compiler, and measures the firmware's sizes."""

import shlex
from pathlib import Path

from ethosgen.toolchain.baremetal import build
from ethosgen.toolchain.csolution import build_csolution
from ethosgen.toolchain.linux import build_linux, find_linux
from ethosgen.toolchain.sizes import Built, Sizes, measure_elf
from ethosgen.toolchain.sources import digest_sources, require_fresh, stamp
from ethosgen.toolchain.turn import take_turn
from ethosgen.toolchain.zephyr import build_zephyr, find_zephyr
from ethosgen.values.errors import InputError

__all__ = [
    "Built",
    "Sizes",
    "build",
    "build_csolution",
    "build_linux",
    "build_zephyr",
    "digest_sources",
    "find_built",
    "find_linux",
    "find_zephyr",
    "measure_elf",
    "require_fresh",
    "stamp",
    "take_turn",
]


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
