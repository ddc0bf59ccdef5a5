"""The effects of a failed run on a target: on state, arena, buffers and other networks.

The NPU model fails in the middle of a run, at each of its operations; the headers say what holds
then. A caller's bad buffer is refused before anything has changed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.machine import Machine
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.operation import IssuedOperation
from ethosgen.backend.ethosu.simulator.ops.context import Context
from ethosgen.backend.ethosu.simulator.registers import RegisterFile
from ethosgen.flow import create_project
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.project import open_project
from ethosgen.project.info import ProjectInfo
from ethosgen.samples.drawing import random_samples
from ethosgen.targets import TARGETS, Firmware, SharedMemory
from ethosgen.targets.session import Session
from ethosgen.toolchain import build
from ethosgen.values.errors import NpuFault
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import IoStyle
from ethosgen.values.watch import Watch
from tests.support.catalogue.recurrent import lstm, svdf
from tests.support.needs import needs_qemu
from tests.support.networks import NetworkBuilder
from tests.support.recipes import recipe

pytestmark = needs_qemu

NPU = "ethos-u55-128"
SAMPLES = 60
OK, BAD_BUFFER, BUS_FAULT = 0, 2, 8
AGAIN = "A run that fails restores the initial state, as {name}_reset() does"
TAKES = "Runs of other networks do not change it"
ALONE = "The NPU's part of the state is in the arena, which nothing else may use between two runs"


def with_state(seed: int) -> bytes:
    """Return a network whose SVDF keeps its state beside the arena, and its LSTM in the arena."""
    net = NetworkBuilder("keeps", seed=seed)
    x = net.fully_connected(net.input((1, 12)), 8)
    x = net.reshape(svdf(net, x, 8, 3), (1, 1, 8))
    return net.build(net.relu(net.fully_connected(lstm(net, x, 6), 5)))


def without_state() -> bytes:
    net = NetworkBuilder("plain", seed=2)
    return net.build(net.conv2d(net.conv2d(net.input((1, 6, 6, 4)), 8, (3, 3)), 4))


class Failing:
    """Observes an NPU model, and fails a run with a bus fault before operation `fails_at`."""

    def __init__(self) -> None:
        self.fails_at: int | None = None
        self.operations = 0

    def before(self, context: Context, step: IssuedOperation) -> None:
        if self.operations == self.fails_at:
            raise NpuFault("bus", "the test's fault")

    def after(self, context: Context, step: IssuedOperation, macs: int) -> None:
        self.operations += 1


@dataclass
class Board:
    """A firmware that runs on QEMU, and the fault of its NPU."""

    session: Session
    fault: Failing
    info: ProjectInfo
    runs: int = 0
    failed: int = 0

    def run(self, network: int, sample: Arrays, fails_at: int | None = None) -> int:
        """Run a sample; return the status."""
        self.fault.fails_at, self.fault.operations = fails_at, 0
        for port, tensor in enumerate(self.info.networks[network].inputs):
            self.session.write_input(port, sample[tensor.name].tobytes(), 10, network)
        status = self.session.run(60, network).status
        self.runs, self.failed = self.runs + 1, self.failed + (status != OK)
        return status

    def outputs(self, network: int) -> dict[str, bytes]:
        """Read what the last run has computed."""
        ports = enumerate(self.info.networks[network].outputs)
        read = self.session.read_output
        return {tensor.name: read(port, tensor.bytes, 10, network) for port, tensor in ports}


class Stream:
    """A network's samples in their order, which starts again after a run that fails."""

    def __init__(self, board: Board, index: int, network: Network) -> None:
        self._board, self._network = board, index
        *self._samples, self.other = random_samples(network, SAMPLES + 1, index)
        self._wanted = golden_outputs(network, self._samples)
        self.since = 0

    def succeed(self, times: int = 1) -> int:
        """Run the next samples; check the outputs, and return the NPU's number of operations."""
        for _ in range(times):
            assert self._board.run(self._network, self._samples[self.since]) == OK
            wanted = {name: array.tobytes() for name, array in self._wanted[self.since].items()}
            assert self._board.outputs(self._network) == wanted
            self.since += 1
        return self._board.fault.operations

    def fail(self, fails_at: int) -> None:
        """Let a run of another sample fail, after which the network is at its start."""
        assert self._board.run(self._network, self.other, fails_at) == BUS_FAULT
        self.since = 0


@contextmanager
def started(elf: Path, info: ProjectInfo) -> Iterator[Board]:
    fault = Failing()

    def attach(page: Any, memory: Sequence[SharedMemory], ring: Callable[[], None]) -> RegisterFile:
        segments = [Segment(m.start_addr, m.memory, m.writable, m.name) for m in memory]
        machine = Machine(find_accelerator(NPU), Bus(segments), fault)
        registers = RegisterFile(page, machine, ring)
        registers.power_on()
        return registers

    with TARGETS["qemu"].start(Firmware(elf, info, attach)) as qemu:
        session = Session(qemu.console, qemu.check)
        assert session.hello(10).init_status == OK
        qemu.settle()
        board = Board(session, fault, info)
        yield board
        end = session.end(10)
        session.bye()
        assert (end.runs, end.failed) == (board.runs, board.failed)
        assert (qemu.wait_for_exit() == 0) == (board.failed == 0)


def make_project(place: Path, io: IoStyle, networks: dict[str, bytes]) -> list[Network]:
    """Write the project; with the caller's buffers an LSTM has no base pointers for its state."""
    paths = []
    for name, data in networks.items():
        paths.append(place.parent / f"{name}.tflite")
        paths[-1].write_bytes(data)
    cpu_ops = ("UNIDIRECTIONAL_SEQUENCE_LSTM",) if io is IoStyle.CALLER else ()
    project_recipe = recipe(*paths, npu=NPU, io=io.value, cpu_ops=cpu_ops, check=False)
    create_project(project_recipe, directory=place, watch=Watch())
    return [parse_network(data, name) for name, data in networks.items()]


def header(place: Path, name: str) -> str:
    (path,) = (place / "model").rglob(f"{name}.h")
    return " ".join(path.read_text().replace("\n *", " ").split())


@pytest.mark.parametrize("io", IoStyle)
def test_an_npu_that_fails_at_any_operation(tmp_path: Path, io: IoStyle) -> None:
    """The network is alone: the NPU's state is in its arena, the CPU's beside it."""
    place = tmp_path / "p"
    (network,) = make_project(place, io, {"keeps": with_state(1)})
    source = (place / "model" / "keeps.c").read_text()
    assert "memset(&keeps_state[" in source
    assert ("memset(&keeps_arena[" in source) == (io is IoStyle.ARENA)
    assert AGAIN.format(name="keeps") in header(place, "keeps")
    assert (ALONE in header(place, "keeps")) == (io is IoStyle.ARENA)
    with started(build(place).elf, open_project(place)) as board:
        keeps = Stream(board, 0, network)
        operations = keeps.succeed()
        assert operations > (8 if io is IoStyle.ARENA else 0)
        for fails_at in range(operations):
            keeps.fail(fails_at)
            keeps.succeed(2)
        keeps.fail(0)
        keeps.fail(operations - 1)
        keeps.succeed(3)


def test_a_failed_run_changes_no_other_network(tmp_path: Path) -> None:
    """The networks share the arena, so what the NPU keeps there is kept apart (kept_bytes)."""
    place = tmp_path / "p"
    networks = {"keeps": with_state(1), "plain": without_state(), "twin": with_state(5)}
    built_from = make_project(place, IoStyle.ARENA, networks)
    for name in ("keeps", "twin"):
        (source,) = place.rglob(f"{name}.c")
        assert f"static int8_t {name}_kept[" in source.read_text()
        assert AGAIN.format(name=name) in header(place, name)
        assert TAKES in header(place, name)
    with started(build(place).elf, open_project(place)) as board:
        keeps, plain, twin = (Stream(board, i, network) for i, network in enumerate(built_from))
        operations, few = keeps.succeed(), plain.succeed()
        for fails_at in range(operations):
            keeps.fail(fails_at)
            twin.succeed()
            keeps.succeed()
            plain.fail(fails_at % few)
            keeps.succeed()
            plain.succeed()
        assert twin.since == operations, "no other network's run changed its state"


MISUSE = """
#include <stddef.h>

static ethosgen_status misuse(void)
{
    static int turn;

    switch (turn++) {
    case 1: return keeps_run(input_0_of_keeps + 8, relu_34_of_keeps);
    case 2: return keeps_run(input_0_of_keeps, relu_34_of_keeps + 1);
    case 3: return keeps_run(NULL, relu_34_of_keeps);
    case 4: return keeps_run(input_0_of_keeps, NULL);
    default: return keeps_run(input_0_of_keeps, relu_34_of_keeps);
    }
}
"""


def test_a_bad_buffer_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "p"
    (network,) = make_project(place, IoStyle.CALLER, {"keeps": with_state(1)})
    assert "only ETHOSGEN_BAD_BUFFER leaves the state as it is" in header(place, "keeps")
    table = place / "model" / "ethosgen_networks.c"
    before, call, after = table.read_text().partition("\nstatic ethosgen_status run_of_keeps(void)")
    assert call
    right = "return keeps_run(input_0_of_keeps, relu_34_of_keeps);"
    assert right in after
    table.write_text(before + MISUSE + call + after.replace(right, "return misuse();", 1))
    with started(build(place).elf, open_project(place)) as board:
        keeps = Stream(board, 0, network)
        keeps.succeed()
        left = board.outputs(0)
        for _ in range(4):
            assert board.run(0, keeps.other) == BAD_BUFFER
            assert board.fault.operations == 0 and board.outputs(0) == left
        keeps.succeed(2)
