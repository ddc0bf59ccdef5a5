"""Firmware for an Ethos-U85, with our driver and Arm's, on the board that stands in on QEMU."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.operation import IssuedOperation
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.registers import RegisterFile
from ethosgen.flow import RunOptions, create_project, run_project
from ethosgen.project import open_project
from ethosgen.targets import TARGETS, Firmware, SharedMemory
from ethosgen.targets.session import Session
from ethosgen.toolchain import build, find_built
from ethosgen.values.errors import NpuFault
from ethosgen.values.report import Report
from ethosgen.values.watch import Watch
from ethosgen.verdict.judgement import Inputs
from tests.support.needs import needs_qemu
from tests.support.recipes import recipe
from tests.support.small_models import image_net

pytestmark = needs_qemu

NPU = "ethos-u85-256"
OK, BUS_FAULT, PARSE_FAULT = 0, 8, 9
FIGURES = """
    cycles npu_active mac_active sram_rd_data_beat_received ext_rd_data_beat_received
    sram_wr_data_beat_written ext_wr_data_beat_written
""".split()
ARM = os.environ.get("ETHOSU_CORE_DRIVER", "")


@pytest.fixture(scope="module", params=["direct", *(["arm"] if ARM else [])])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a project with a driver: the sources of Arm's are where ETHOSU_CORE_DRIVER says."""
    folder = tmp_path_factory.mktemp("u85")
    network = image_net(folder / "image_net.tflite")
    create_project(recipe(network, board="corstone320"), directory=folder / "p", watch=Watch())
    build(folder / "p", "qemu", {"ETHOSU_CORE_DRIVER": ARM} if request.param == "arm" else {})
    return folder / "p"


def test_it_equals_tflm_and_the_report_names_what_ran(place: Path) -> None:
    report = run_project(place, RunOptions(Inputs(None, 2, 1)), watch=Watch())
    assert isinstance(report, Report)
    assert report.passed and report.on == "qemu" and report.plan.npu == NPU
    said = "the cortex-m55 of corstone300 ran the firmware: QEMU has no corstone320"
    assert report.findings["stand-in"] == said
    assert report.as_json()["stand_in"] == "the cortex-m55 of corstone300"
    assert report.npu_pmu is not None and list(report.npu_pmu) == FIGURES
    assert report.npu_pmu["ext_rd_data_beat_received"] > 0, "weights are behind the external port"
    assert report.npu_pmu["sram_wr_data_beat_written"] > 0, "the arena is behind the ports to SRAM"
    assert report.npu_pmu["ext_wr_data_beat_written"] == 0


class Failing:
    """Observes an NPU model, and fails each run with a fault of a kind, if there is one."""

    kind = ""

    def before(self, _context: Context, _step: IssuedOperation) -> None:
        if self.kind:
            raise NpuFault(self.kind, "the test's fault")

    def after(self, _context: Context, _step: IssuedOperation, _macs: int) -> None:
        pass


@contextmanager
def started(place: Path, fault: Failing) -> Iterator[Session]:
    def attach(page: Any, memory: Sequence[SharedMemory], ring: Callable[[], None]) -> RegisterFile:
        segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memory]
        registers = RegisterFile(page, Machine(find_accelerator(NPU), Bus(segments), fault), ring)
        registers.power_on()
        return registers

    elf = find_built(place, "qemu", "qemu").elf
    with TARGETS["qemu"].start(Firmware(elf, open_project(place), attach)) as qemu:
        session = Session(qemu.console, qemu.check)
        assert session.hello(60).init_status == OK
        qemu.settle()
        yield session


def test_faults_reach_the_driver_and_a_reset_ends_them(place: Path) -> None:
    fault = Failing()
    wanted = {"bus": BUS_FAULT, "parse": PARSE_FAULT, "weights": PARSE_FAULT, "": OK}
    with started(place, fault) as session:
        for kind, status in wanted.items():
            fault.kind = kind
            assert session.run(60, 0).status == status, kind
