"""Programs of --platform linux that run on this machine, for tests without an emulator."""

import os
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from ethosgen.board import load_board
from ethosgen.platforms import LINUX
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain import Built, build_linux
from tests.support.programs import make_cpu_program

NATIVE: Mapping[str, str] = {"ETHOSGEN_LINUX_GCC": "gcc", "CFLAGS": "-Werror"}
"""The environment for a build with this machine's compiler."""


def write_linux_project(place: Path) -> ProjectInfo:
    """Write the project of the network that adds one, for the CPU alone."""
    write(render(make_cpu_program(), load_board("aarch64-linux"), platform=LINUX), place)
    return open_project(place)


def build_native(info: ProjectInfo, on: str) -> Built:
    """Build a project with this machine's compiler, which may say nothing."""
    with patch.dict(os.environ, NATIVE):
        return build_linux(info, on)
