"""Large inputs and outputs on QEMU: through the memory that we share, found by the ELF's table."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.project import open_project
from ethosgen.project.info import ProjectInfo
from ethosgen.targets.buffers import LARGE_BYTES, PortIndex, find_buffers
from ethosgen.targets.session import Session
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_build
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

pytestmark = needs_build

SHAPE = (1, 64, 64, 2)


@pytest.fixture(scope="module", params=[IoStyle.ARENA, IoStyle.CALLER], ids=lambda io: io.value)
def project(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A network with a large input, a small one and a large output."""
    place = tmp_path_factory.mktemp("large")
    net = NetworkBuilder("large")
    x, y = net.input(SHAPE, name="x"), net.input((1, 1, 1, 2), name="y")
    net.add(x, y)
    (place / "large.tflite").write_bytes(net.build())
    wanted = recipe(place / "large.tflite", npu="none", io=request.param.value)
    flow.create_project(wanted, directory=place / "p", watch=Watch())
    flow.build_project(place / "p", watch=Watch())
    yield place / "p"


def elf_and_info(project: Path) -> tuple[Path, ProjectInfo]:
    return project / "build" / "qemu" / "firmware.elf", open_project(project)


def test_the_table_of_a_firmware_tells_its_large_buffers(project: Path) -> None:
    elf, info = elf_and_info(project)
    buffers = find_buffers(elf, info)
    assert set(buffers) == {PortIndex(0, False, 0), PortIndex(0, True, 0)}
    assert {size for _, size in buffers.values()} == {int(np.prod(SHAPE))}
    memory = info.board.memories["ddr"]
    for address, size in buffers.values():
        assert memory.start_addr <= address < memory.start_addr + memory.size_bytes - size


def test_another_table_is_not_believed(project: Path) -> None:
    elf, info = elf_and_info(project)
    network = info.network
    wider = replace(network.inputs[0], shape=(1, 64, 64, 3))
    for other in (
        replace(network, inputs=(wider, *network.inputs[1:])),
        replace(network, inputs=network.inputs[:1]),
    ):
        assert find_buffers(elf, replace(info, networks=(other,))) == {}
    assert find_buffers(elf, replace(info, networks=(network, network))) == {}


def test_large_tensors_take_the_short_way_and_small_ones_the_console(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, write = [], Session.write_input

    def note(self: Session, port: int, data: bytes, *rest: object) -> None:
        sent.append(len(data))
        write(self, port, data, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "write_input", note)
    report = flow.run_project(project, flow.RunOptions(Inputs(None, 3, 1)), watch=Watch())
    assert report.passed
    assert sent == [2, 2, 2] and max(sent) < LARGE_BYTES
