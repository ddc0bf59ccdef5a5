"""The NPU's registers: a page of plain memory that a driver writes and the model polls.

The page is in memory shared with the driver's CPU, so nothing signals an access. The model
detects writes because it leaves recognisable values: RESET holds a sentinel that no driver writes,
and CMD's request bits are cleared once processed. Registers that are read-only on hardware are
rewritten at each step, so that a stray write does not last.

The AXI limits (AXI_LIMIT0 to 3; on U85 AXI_SRAM and AXI_EXT) and U85's POWER_CTRL keep their
values. The limits bound the number of outstanding accesses, which the estimate of cycles ignores;
U85's estimate uses REGIONCFG's choice of port. Offsets here apply to all generations;
register_map.py has the differences.
"""

import logging
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ethosgen.backend.ethosu.simulator import culprit
from ethosgen.backend.ethosu.simulator.machine import Machine, RunReport, load
from ethosgen.backend.ethosu.simulator.operation import Channel
from ethosgen.backend.ethosu.simulator.pmu import Pmu
from ethosgen.backend.ethosu.simulator.register_map import (
    STATUS_BRANCH_FAULT,
    STATUS_BUS_STATUS,
    STATUS_CMD_PARSE_ERROR,
    STATUS_WD_FAULT,
    register_map,
)
from ethosgen.backend.stream_run import StreamRun
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_log = logging.getLogger(__name__)

# Byte offsets, as in Arm's register description.
ID = 0x000
STATUS = 0x004
CMD = 0x008
RESET = 0x00C
QBASE = 0x010
QBASE_HI = 0x014
QREAD = 0x018
QCONFIG = 0x01C
QSIZE = 0x020
PROT = 0x024
CONFIG = 0x028
LOCK = 0x02C
REGIONCFG = 0x03C
BASEP0 = 0x080

STATUS_RUNNING = 1 << 0
STATUS_IRQ_RAISED = 1 << 1
STATUS_RESET_STATUS = 1 << 3
STATUS_CMD_END_REACHED = 1 << 5
STATUS_PMU_IRQ_RAISED = 1 << 6
STATUS_FAULTS = STATUS_BUS_STATUS | STATUS_CMD_PARSE_ERROR | STATUS_WD_FAULT | STATUS_BRANCH_FAULT
"""Only a reset clears them."""
STATUS_FAULTING_INTERFACE_LSB = 11
STATUS_FAULTING_CHANNEL_LSB = 12
STATUS_IRQ_HISTORY_LSB = 16

CMD_RUN = 1 << 0
CMD_CLEAR_IRQ = 1 << 1
CMD_POWER = 0xC
"""clock_q_enable and power_q_enable, which the driver reads back and keeps."""
CMD_STOP = 1 << 4

RESET_IDLE = 0xFFFF_FFFF
"""Value of RESET between resets; a driver writes only pending_CPL and pending_CSL, bits 0 and 1."""

_BASE_POINTERS = 8


class RegisterFile:
    """An Ethos-U's registers in an array of uint32 words, which may be shared memory."""

    def __init__(
        self, page: NDArray[np.uint32], machine: Machine, raise_irq: Callable[[], None]
    ) -> None:
        """Store the page, the machine to control, and the function that raises the interrupt."""
        words = machine.accelerator.register_bytes // 4
        if page.dtype != np.uint32 or page.ndim != 1 or len(page) < words:
            raise ValueError(f"the register page needs {counted(words, 'word')} of uint32")
        self._page = page
        self._machine = machine
        self._map = register_map(machine.accelerator)
        self._raise_irq = raise_irq
        self._status = STATUS_RESET_STATUS
        self._prot = 0
        self._queue_read = 0
        self._command_seen = CMD_POWER
        self._queue_seen = (0, 0, 0)
        self._pmu = Pmu(self._map, self._read, self._write)
        self.last_fault: NpuFault | None = None
        self.last_report: RunReport | None = None
        self.last_run: StreamRun | None = None

    def power_on(self) -> None:
        """Write the values of a cold reset."""
        self._page[:] = 0
        self._write(CMD, CMD_POWER)
        self._pmu.power_on()
        self._status = STATUS_RESET_STATUS
        self._prot = self._queue_read = 0
        self.last_fault = self.last_report = self.last_run = None
        self._publish()
        self._write(RESET, RESET_IDLE)

    def poll(self) -> bool:
        """Process the driver's writes since the last call; return True if there were any.

        Never raises NpuFault: a faulting stream ends in STATUS, QREAD, `last_fault` and the
        interrupt, as on hardware.
        """
        acted = False
        # CMD is read first: a driver resets and then starts, so when the start is visible, so is
        # its reset. In the other order, the reset would be processed after the run, and would clear
        # the STATUS that the driver is about to read. PMCR is read between them: a driver starts
        # the PMU after the reset.
        command = self._read(CMD)
        control = self._pmu.control()
        request = self._read(RESET)
        if request != RESET_IDLE:
            self._reset(request)
            acted = True
        acted |= self._pmu.poll(control)
        self._look_at_queue()
        if command & (CMD_RUN | CMD_STOP):
            self._write(CMD, command & CMD_POWER)
            self._command(command)
            acted = True
        elif command != self._command_seen and (command & CMD_CLEAR_IRQ or command >> 16):
            # Not written back: the driver starts its next run as soon as it has cleared the
            # interrupt, and a later write would overwrite the start.
            self._command(command)
            acted = True
        self._command_seen = command
        return acted

    def _reset(self, request: int) -> None:
        """Soft reset: apply the security and privilege level, and clear state and STATUS.

        `last_fault` stays until the next run: a driver resets before the firmware reports it.
        The driver may already have set up its next job when the page is polled, so the registers
        that it owns (QBASE, QSIZE, BASEP, …) keep their values.
        """
        _log.debug("RESET: 0x%x", request)
        self._prot = request & 3
        self._status = 0
        self._queue_read = 0
        self._pmu.reset()
        self._write(RESET, RESET_IDLE)
        self._publish()

    def _command(self, command: int) -> None:
        if command & CMD_CLEAR_IRQ:
            self._status &= ~(STATUS_IRQ_RAISED | STATUS_PMU_IRQ_RAISED)
        self._status &= ~(command >> 16 << STATUS_IRQ_HISTORY_LSB)
        self._publish()
        if command & CMD_RUN:
            if self._status & STATUS_BUS_STATUS:
                _log.warning("the NPU does not start after a bus fault: reset it first")
                return
            self._run()

    def _look_at_queue(self) -> None:
        """Clear cmd_end_reached after a write to QBASE or QSIZE; only a new value is detected."""
        queue = self._read(QBASE), self._read(QBASE_HI), self._read(QSIZE)
        if queue != self._queue_seen:
            self._queue_seen = queue
            if self._status & STATUS_CMD_END_REACHED:
                self._status &= ~STATUS_CMD_END_REACHED
                self._publish()

    def _run(self) -> None:
        self._status &= STATUS_RESET_STATUS | STATUS_FAULTS | STATUS_PMU_IRQ_RAISED
        self._status |= STATUS_RUNNING
        self._queue_read = 0
        self.last_fault = None
        self._pmu.begin()
        self._publish()
        bases = [self._address(BASEP0 + 8 * index) for index in range(_BASE_POINTERS)]
        try:
            ports = tuple(self._port(region) for region in range(_BASE_POINTERS))
            report = self._machine.run(self._address(QBASE), self._read(QSIZE), bases, ports)
        except NpuFault as fault:
            _log.info("%s", fault)
            self.last_fault, self.last_report = fault, None
            self._queue_read = fault.offset
            self._status |= self._map.fault_bits[fault.kind]
            if fault.kind == "bus":
                self._status |= self._faulting(fault, bases)
        else:
            self.last_report = report
            self._queue_read = report.consumed
            self._status |= STATUS_CMD_END_REACHED
            self._status |= report.irq_mask << STATUS_IRQ_HISTORY_LSB
            if self._pmu.count(report.activity, self._port):
                self._status |= STATUS_PMU_IRQ_RAISED
        done = self.last_report
        work = (done.operations, done.cycles) if done else (0, 0)
        self.last_run = StreamRun(self._address(QBASE), self._read(QSIZE), *work)
        self._status = self._status & ~STATUS_RUNNING | STATUS_IRQ_RAISED
        self._publish()
        self._raise_irq()

    def _faulting(self, fault: NpuFault, bases: Sequence[int]) -> int:
        """Return STATUS's fields for a bus fault: the interface, and the channel."""
        machine = self._machine
        channel = Channel.COMMANDS
        port = self._map.port(self._read, self._read(QCONFIG) & 3)
        if fault.command != "?":
            stream = machine.bus.read(self._address(QBASE), self._read(QSIZE))
            steps = load(stream, machine.accelerator).steps
            # A stream that has overwritten itself now has other steps, or none at this offset.
            step = next((step for step in steps if step.offset == fault.offset), None)
            refused = culprit.refusal(machine.bus, bases, step.operation) if step else None
            if refused is None:
                return 0
            channel, region, named = refused
            self.last_fault = NpuFault("bus", named.reason, fault.offset, fault.command)
            port = self._port(region)
        return port << STATUS_FAULTING_INTERFACE_LSB | channel << STATUS_FAULTING_CHANNEL_LSB

    def _port(self, region: int) -> int:
        """Return the AXI port of a region: 0, or 1 for that of large memories."""
        return self._map.port(self._read, self._read(REGIONCFG) >> 2 * region & 3)

    def _publish(self) -> None:
        """Write the registers that are read-only for the driver; STATUS last."""
        accelerator = self._machine.accelerator
        self._write(ID, accelerator.id_word)
        self._write(CONFIG, accelerator.config_word)
        self._write(PROT, self._prot)
        self._write(QREAD, self._queue_read)
        self._write(STATUS, self._status)

    def _address(self, offset: int) -> int:
        """Return an address register; with 32 address bits, the high word is ignored."""
        both = self._read(offset) | self._read(offset + 4) << 32
        return both & (1 << self._map.address_bits) - 1

    def _read(self, offset: int) -> int:
        return int(self._page[offset // 4])

    def _write(self, offset: int, value: int) -> None:
        self._page[offset // 4] = value
