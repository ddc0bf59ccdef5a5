"""A board on QEMU whose NPU ends late, never or twice, and raises spurious interrupts.

The tests of the RTOSes share this: the faults, the status that a run must return after each, and
the board.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.registers import STATUS_RUNNING, RegisterFile
from ethosgen.flow import create_project
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.project.info import ProjectInfo
from ethosgen.samples.drawing import random_samples
from ethosgen.targets import TARGETS, Firmware, SharedMemory
from ethosgen.targets.session import RunReply, Session
from ethosgen.values.network import Network
from ethosgen.values.watch import Watch
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

RUN = Path(__file__).parent / "marked_run.h"
NPU = "ethos-u55-128"
OK, TIMEOUT = 0, 13
TIMEOUT_MS = 600
FIXED_MS = 1000
"""The hooks' former fixed limit, which did not depend on the driver's own limit."""
NEVER = 1e9


@dataclass(frozen=True)
class Fault:
    """The NPU's behaviour in a run, in seconds, and the status that the run must return.

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
"""The run after a fault: long enough for late interrupts of the fault to come during it."""


class FaultyNpu(RegisterFile):
    """The NPU model, whose runs end and interrupt according to `fault` at their start."""

    fault = Fault()

    def __init__(
        self, page: np.ndarray[Any, np.dtype[np.uint32]], machine: Machine, ring: Callable[[], None]
    ) -> None:
        super().__init__(page, machine, lambda: self._ring_after(self._started.rings_s))
        self._ring = ring
        self._started = self.fault
        self._end_s = NEVER

    def poll(self) -> bool:
        """End the run when its time has come, and serve the registers."""
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

    def __init__(
        self, session: Session, npu: FaultyNpu, info: ProjectInfo, network: Network
    ) -> None:
        self._session, self._npu, self._network = session, npu, info.networks[0]
        self._samples = random_samples(network, 8, 3)
        self._wanted = golden_outputs(network, self._samples)
        self._turn = 0

    def run(self, fault: Fault) -> tuple[RunReply, bool]:
        """Run another sample; return the reply, and whether the outputs equal TFLM's."""
        self._turn += 1
        sample, wanted = (all_[self._turn % 8] for all_ in (self._samples, self._wanted))
        self._npu.fault = fault
        for port, tensor in enumerate(self._network.inputs):
            self._session.write_input(port, sample[tensor.name].tobytes(), 10)
        reply = self._session.run(60)
        (tensor,) = self._network.outputs
        output = self._session.read_output(0, tensor.bytes, 10)
        return reply, output == wanted[tensor.name].tobytes()


def make_network_project(place: Path, platform: str, sources: str) -> Network:
    """Write the project of a small network, and marked_run.h into its folder `sources`."""
    net = NetworkBuilder("small", seed=4)
    x = net.conv2d(net.input((1, 8, 8, 4)), 8)
    data = net.build(net.average_pool(x, (2, 2)))
    path = place.with_suffix(".tflite")
    path.write_bytes(data)
    create_project(
        recipe(path, npu=NPU, io="caller", platform=platform, check=False),
        directory=place,
        watch=Watch(),
    )
    (place / sources / RUN.name).write_bytes(RUN.read_bytes())
    return parse_network(data, "small")


@contextmanager
def started(elf: Path, info: ProjectInfo, network: Network) -> Iterator[Board]:
    """Start the firmware on QEMU with an NPU that the test controls."""
    npus: list[FaultyNpu] = []

    def attach(page: Any, memory: Sequence[SharedMemory], ring: Callable[[], None]) -> FaultyNpu:
        segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memory]
        npus.append(FaultyNpu(page, Machine(find_accelerator(NPU), Bus(segments)), ring))
        npus[0].power_on()
        return npus[0]

    with TARGETS["qemu"].start(Firmware(elf, info, attach)) as qemu:
        session = Session(qemu.console, qemu.check)
        assert session.hello(10).init_status == OK
        qemu.settle()
        yield Board(session, npus[0], info, network)
        session.end(10)
        session.bye()
        assert qemu.wait_for_exit() == 0


def check_fault(board: Board, name: str) -> None:
    """Run a fault, then two long runs: check that a success is right and the next runs work."""
    fault = FAULTS[name]
    reply, is_right = board.run(fault)
    print(f"{name}: status {reply.status}, {reply.stack_bytes} ms, {reply.cpu_ticks} turns")
    assert reply.status == fault.status
    assert is_right == (reply.status == OK)
    assert reply.stack_bytes < FIXED_MS
    # While the NPU works, the other thread runs at each tick; a few ticks may be missing.
    assert reply.cpu_ticks >= reply.stack_bytes - 2
    for _ in range(2):
        reply, is_right = board.run(NEXT)
        assert (reply.status, is_right) == (OK, True)


def check_orders(board: Board, seed: int) -> None:
    """Run each fault three times in random order; check that no status is wrong."""
    order = np.random.default_rng(seed).permutation([*FAULTS] * 3)
    replies = [(name, *board.run(FAULTS[name])) for name in order]
    for name, reply, is_right in replies:
        assert (reply.status, is_right) == (FAULTS[name].status, FAULTS[name].status == OK), name
