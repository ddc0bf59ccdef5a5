"""FreeRTOS on QEMU, by the hooks of docs/integration.md, where the NPU's interrupts go wrong.

FREERTOS_KERNEL names FreeRTOS's kernel, and ETHOSU_CORE_DRIVER the sources of Arm's driver.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.registers import STATUS_RUNNING, RegisterFile
from ethosgen.frontend.flatbuffer import parse_model
from ethosgen.host.tools import TOOLS
from ethosgen.oracle.reference import golden_outputs
from ethosgen.pipeline import create_project
from ethosgen.project import open_project
from ethosgen.samples.drawing import random_samples
from ethosgen.target import TARGETS, Firmware, SharedMemory
from ethosgen.target.session import RunReply, Session
from ethosgen.toolchain import build
from ethosgen.values.errors import ToolError
from ethosgen.values.model import Model
from ethosgen.values.project_info import ProjectInfo
from ethosgen.values.watch import Watch
from networks import Network

ROOT = Path(__file__).parent.parent.parent
PARTS = Path(__file__).parent / "freertos"
KERNEL = os.environ.get("FREERTOS_KERNEL")
NPU = "ethos-u55-128"
OK, TIMEOUT = 0, 13
TIMEOUT_MS = 600
FIXED_MS = 1000
"""What the hooks once waited, whatever the driver's own limit was."""
NEVER = 1e9
NO_HOOKS = """
#include "ethosgen_npu.h"

#include "FreeRTOS.h"
#include "semphr.h"

static SemaphoreHandle_t npu_ended;
"""
"""What is left of the documented hooks where the library's own are to do."""
VECTORS = """
    [11] = SVC_Handler,
    [14] = PendSV_Handler,
    [15] = SysTick_Handler,
"""

pytestmark = pytest.mark.skipif(
    KERNEL is None, reason="FREERTOS_KERNEL does not name the sources of FreeRTOS's kernel"
)


@dataclass(frozen=True)
class Fault:
    """What the NPU does with a run, in seconds, and what status must follow.

    It ends `takes_s` after its start; interrupts come `early_s` after its start and `rings_s` after
    its end.
    """

    takes_s: float = 0.0
    early_s: tuple[float, ...] = ()
    rings_s: tuple[float, ...] = (0.0,)
    status: int = OK


LATE_S = TIMEOUT_MS / 1000 + 0.15
FAULTS = {
    "normal": Fault(),
    "delayed": Fault(rings_s=(0.05,)),
    "lost": Fault(rings_s=()),
    "doubled": Fault(rings_s=(0.0, 0.001)),
    "trebled": Fault(rings_s=(0.0, 0.0, 0.03)),
    "spurious": Fault(takes_s=0.05, early_s=(0.0, 0.01, 0.02, 0.03)),
    "lost among spurious ones": Fault(takes_s=0.03, early_s=(0.0, 0.01, 0.02), rings_s=()),
    "long": Fault(takes_s=0.4),
    "after the time is up": Fault(rings_s=(LATE_S,)),
    "stuck": Fault(takes_s=NEVER, status=TIMEOUT),
    "stuck, and late": Fault(takes_s=NEVER, early_s=(0.01, LATE_S), status=TIMEOUT),
}
NEXT = Fault(takes_s=0.25)
"""The run after a fault: long enough for what is left of that one to come while it goes on."""


class FaultyNpu(RegisterFile):
    """The NPU's model, whose runs end and interrupt as `fault` says when they start."""

    fault = Fault()

    def __init__(
        self, page: np.ndarray[Any, np.dtype[np.uint32]], machine: Machine, ring: Callable[[], None]
    ) -> None:
        super().__init__(page, machine, lambda: self._ring_after(self._started.rings_s))
        self._ring = ring
        self._started = self.fault
        self._end_s = NEVER

    def poll(self) -> bool:
        """End the run whose time has come, and serve the registers."""
        if time.monotonic() < self._end_s:
            return super().poll()
        self._end_s = NEVER
        super()._run()
        return True

    def _run(self) -> None:
        self._started = self.fault
        self._status = STATUS_RUNNING
        self._publish()
        self._end_s = time.monotonic() + self._started.takes_s
        self._ring_after(self._started.early_s)

    def _reset(self, request: int) -> None:
        self._end_s = NEVER
        super()._reset(request)

    def _ring_after(self, delays_s: Sequence[float]) -> None:
        for delay_s in delays_s:
            timer = threading.Timer(delay_s, self._ring_if_open)
            timer.daemon = True
            timer.start()

    def _ring_if_open(self) -> None:
        with suppress(OSError):
            self._ring()


class Board:
    """A firmware with FreeRTOS that runs on QEMU, and its NPU."""

    def __init__(self, session: Session, npu: FaultyNpu, info: ProjectInfo, model: Model) -> None:
        self._session, self._npu, self._network = session, npu, info.networks[0]
        self._samples = random_samples(model, 8, 3)
        self._wanted = golden_outputs(model, self._samples)
        self._turn = 0

    def run(self, fault: Fault) -> tuple[RunReply, bool]:
        """Return the reply to a run of another sample, and whether the outputs are TFLM's."""
        self._turn += 1
        sample, wanted = (all_[self._turn % 8] for all_ in (self._samples, self._wanted))
        self._npu.fault = fault
        for port, tensor in enumerate(self._network.inputs):
            self._session.write_input(port, sample[tensor.name].tobytes(), 10)
        reply = self._session.run(60)
        (tensor,) = self._network.outputs
        given = self._session.read_output(0, tensor.bytes, 10)
        return reply, given == wanted[tensor.name].tobytes()


@dataclass(frozen=True)
class Setup:
    """A driver, ours or that of Arm's sources, with the documented hooks or with the library's."""

    name: str
    arm: str | None = None
    has_hooks: bool = True


SETUPS = [Setup("direct"), Setup("direct, no hooks", has_hooks=False)]
if "ETHOSU_CORE_DRIVER" in os.environ:
    SETUPS.append(Setup("arm", arm=os.environ["ETHOSU_CORE_DRIVER"]))


def make_project(place: Path, has_hooks: bool) -> Model:
    """Write the project of a small network, and put FreeRTOS and the hooks into it."""
    net = Network("small", seed=4)
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    data = net.build(net.average_pool(x, (2, 2)))
    path = place.with_suffix(".tflite")
    path.write_bytes(data)
    create_project(
        path, "corstone300", npu=NPU, io="caller", directory=place, check=False, watch=Watch()
    )
    page = (ROOT / "docs" / "integration.md").read_text()
    (hooks,) = re.findall(r"<!-- freertos.*?```c\n(.*?)```", page, re.DOTALL)
    hooks = hooks if has_hooks else NO_HOOKS
    (place / "app" / "main.c").write_text(hooks + (PARTS / "main.c").read_text())
    (place / "app" / "FreeRTOSConfig.h").write_bytes((PARTS / "FreeRTOSConfig.h").read_bytes())
    with (place / "CMakeLists.txt").open("a") as file:
        file.write((PARTS / "freertos.cmake").read_text())
    startup = place / "board" / "startup.c"
    before, line, after = startup.read_text().partition("    [16 + IRQ_CONSOLE_RX]")
    declared = "void SVC_Handler(void), PendSV_Handler(void), SysTick_Handler(void);\n"
    startup.write_text(declared + before + VECTORS + line + after)
    return parse_model(data, "small")


@contextmanager
def started(elf: Path, info: ProjectInfo, model: Model) -> Iterator[Board]:
    """Start the firmware on QEMU with an NPU that obeys the test."""
    made: list[FaultyNpu] = []

    def attach(page: Any, memory: Sequence[SharedMemory], ring: Callable[[], None]) -> FaultyNpu:
        segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memory]
        made.append(FaultyNpu(page, Machine(find_accelerator(NPU), Bus(segments)), ring))
        made[0].power_on()
        return made[0]

    with TARGETS["qemu"](Firmware(elf, info, attach)) as qemu:
        session = Session(qemu.console, qemu.check)
        assert session.hello(10).init_status == OK
        qemu.settle()
        yield Board(session, made[0], info, model)
        session.end(10)
        session.bye()
        assert qemu.wait_for_exit() == 0


@pytest.fixture(scope="module", params=SETUPS, ids=lambda setup: setup.name)
def board(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Board]:
    for tool in TOOLS:
        try:
            tool.find()
        except ToolError as error:
            pytest.skip(str(error))
    place = tmp_path_factory.mktemp("freertos") / "small"
    model = make_project(place, request.param.has_hooks)
    options = {"ETHOSGEN_NPU_TIMEOUT_MS": str(TIMEOUT_MS), "FREERTOS_KERNEL": str(KERNEL)}
    if request.param.arm:
        options["ETHOSU_CORE_DRIVER"] = request.param.arm
    with started(build(place, "qemu", options).elf, open_project(place), model) as running:
        yield running


@pytest.mark.parametrize("name", FAULTS)
def test_a_success_is_right_and_the_next_run_works(board: Board, name: str) -> None:
    fault = FAULTS[name]
    reply, is_right = board.run(fault)
    print(f"{name}: status {reply.status}, {reply.stack_bytes} ms, {reply.cpu_ticks} turns")
    assert reply.status == fault.status
    assert is_right == (reply.status == OK)
    assert reply.stack_bytes < FIXED_MS
    # While the NPU works the other task has its turn at each tick; a few are in flight.
    assert reply.cpu_ticks >= reply.stack_bytes - 2
    for _ in range(2):
        reply, is_right = board.run(NEXT)
        assert (reply.status, is_right) == (OK, True)


def test_no_order_of_faults_makes_a_wrong_success(board: Board) -> None:
    order = np.random.default_rng(1).permutation([*FAULTS] * 3)
    replies = [(name, *board.run(FAULTS[name])) for name in order]
    for name, reply, is_right in replies:
        assert (reply.status, is_right) == (FAULTS[name].status, FAULTS[name].status == OK), name
