"""Firmware for the tests of targets: built once for each worker."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ethosgen.board import load_board
from ethosgen.project import open_project, render, write
from ethosgen.project.info import ProjectInfo
from ethosgen.toolchain import Built, build
from ethosgen.values.plan import IoStyle
from tests.support.needs import needs_qemu
from tests.support.programs import make_program

Firmware = tuple[Built, ProjectInfo]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixture below."""
    for item in items:
        if "firmware" in getattr(item, "fixturenames", ()):
            item.add_marker(needs_qemu)


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Callable[[IoStyle], Firmware]:
    """Return a function that builds the firmware of the network that adds one, for an I/O style."""
    firmwares: dict[IoStyle, Firmware] = {}

    def make(io: IoStyle) -> Firmware:
        if io not in firmwares:
            directory: Path = tmp_path_factory.mktemp("firmware") / io.value
            write(render(make_program(io), load_board("corstone300")), directory)
            firmwares[io] = build(directory), open_project(directory)
        return firmwares[io]

    return make
