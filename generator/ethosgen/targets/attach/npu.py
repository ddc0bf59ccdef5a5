"""The NPU model's registers behind a watchpoint, its interrupt, and the log of inferences."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ethosgen.backend.protocol import Attach, NpuModel, SharedMemory
from ethosgen.backend.stream_run import StreamRun
from ethosgen.targets.attach import access
from ethosgen.targets.attach.memory import GuestMemory
from ethosgen.targets.attach.monitor import InterruptLine
from ethosgen.targets.attach.stub import PC, XPSR, Stub
from ethosgen.targets.attach.timing_adapter import BLOCK_BYTES, TimingAdapters
from ethosgen.values.errors import TargetError

STATUS, CMD, RESET, QREAD = 1, 2, 3, 6
"""The indices of registers, the same in all generations."""
RUN, CLEAR_IRQ = 1, 2
_POWER = 0xC
"""The bits of CMD that keep clock and power on."""
_RUNNING, _IRQ_RAISED, _CMD_END_REACHED = 1 << 0, 1 << 1, 1 << 5
"""Bits of STATUS."""
_MS = 1000.0
"""Milliseconds in a second."""


@dataclass(frozen=True)
class Inference:
    """The model's work for one start of the NPU.

    `fault` is "" if the stream ended normally; `cycles` is the model's estimate.
    """

    number: int
    npu: str
    stream_addr: int
    stream_bytes: int
    operations: int
    cycles: int
    fault: str

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return asdict(self)


Log = Callable[[Inference], None]


@dataclass(frozen=True)
class Troubles:
    """Faults of an NPU that test a firmware's time limits; times are this machine's.

    Each stream ends `delay_s` after its start. Stream number `hang`, from 1, never ends; the
    interrupt of number `drop_irq` is lost. One without a cause comes every `spurious_s`.
    """

    delay_s: float = 0.0
    hang: int | None = None
    drop_irq: int | None = None
    spurious_s: float | None = None

    @classmethod
    def of_ms(
        cls, delay_ms: float, hang: int | None, drop_irq: int | None, spurious_ms: float | None
    ) -> "Troubles":
        """Return the troubles for times in milliseconds."""
        spurious_s = None if spurious_ms is None else spurious_ms / _MS
        return cls(delay_ms / _MS, hang, drop_irq, spurious_s)


NO_TROUBLES = Troubles()


@dataclass(frozen=True)
class RegisterWindow:
    """A firmware's NPU: name, addresses of its registers, their size in bytes.

    `timing_adapters` are the addresses of its timing adapters.
    """

    npu: str
    bases: tuple[int, ...]
    register_bytes: int
    timing_adapters: tuple[int, ...] = ()

    def offset(self, addr: int) -> int | None:
        """Return the offset of a register's address, None if no register is there."""
        inside = (addr - base for base in self.bases)
        return next((offset for offset in inside if 0 <= offset < self.register_bytes), None)


class WatchedNpu:
    """An NPU model whose registers are behind a QEMU watchpoint."""

    def __init__(
        self,
        stub: Stub,
        place: RegisterWindow,
        attach: Attach,
        mapped: SharedMemory,
        memory: GuestMemory,
        line: InterruptLine,
        log: Log,
        troubles: Troubles = NO_TROUBLES,
    ) -> None:
        self._stub = stub
        self._place = place
        self._memory = memory
        self._line = line
        self._log = log
        self._troubles = troubles
        self._starts = 0
        self._is_held = self._is_due = False
        self._ends_s: float | None = None
        self._strays_s = self._next_stray()
        self._adapters = TimingAdapters(place.timing_adapters)
        self._page = np.zeros(place.register_bytes // 4, np.uint32)
        self._inferences = 0
        self._reported: StreamRun | None = None
        self._model: NpuModel = attach(
            self._page, [mapped, *memory.segments()], self._raise_interrupt
        )

    @property
    def inferences(self) -> int:
        """The number of times that the firmware has started the NPU."""
        return self._inferences

    @property
    def due_s(self) -> float | None:
        """The next time for `act`, on the monotonic clock; None if never."""
        return min((s for s in (self._ends_s, self._strays_s) if s is not None), default=None)

    def act(self) -> None:
        """Do what is due, while the processor runs.

        A stream's end shows only in its interrupt. It runs when the firmware next accesses a
        register, at a watchpoint: stopping the processor at any other time may end QEMU, which does
        not tolerate a watchpoint at the same moment.
        """
        now_s = time.monotonic()
        if self._ends_s is not None and self._ends_s <= now_s:
            self._is_due, self._ends_s = True, None
            self._raise_interrupt()
        if self._strays_s is not None and self._strays_s <= now_s:
            self._strays_s = self._next_stray()
            if not self._is_due and not self._page[STATUS] & _IRQ_RAISED:  # else it has a cause
                self._line.set(True)
                self._line.set(False)

    def watch(self) -> None:
        """Set the watchpoints."""
        for base in self._place.bases:
            self._stub.watch(base, self._place.register_bytes)
        for addr in self._adapters.windows():
            self._stub.watch(addr, BLOCK_BYTES)

    def owns(self, addr: int) -> bool:
        """Return whether a watchpoint's address is that of the registers."""
        return self._place.offset(addr) is not None or self._adapters.owns(addr)

    def serve(self) -> None:
        """Execute the instruction that has met the watchpoint; TargetError if none accesses words.

        The processor is before the instruction, and after it when this returns.
        """
        if self._is_due:
            self._is_held = self._is_due = False
            self._execute()
        pc = self._stub.register(PC)
        executed = access.decode(self._stub.read(pc, access.LONGEST_BYTES), pc, self._stub.register)
        for addr, register in executed.words:
            offset = self._place.offset(addr)
            if self._adapters.owns(addr) and addr % 4 == 0:
                self._serve_adapter(addr, register, executed.loads)
                continue
            if offset is None or offset % 4:
                raise TargetError(
                    f"the instruction at 0x{pc:08x} accesses 0x{addr:08x} and the NPU's registers "
                    "at once, or none of them: access each with its own load or store"
                )
            if executed.loads:
                self._stub.set_register(register, int(self._page[offset // 4]))
            else:
                self._write(offset // 4, self._stub.register(register))
        for register, value in executed.updates.items():
            self._stub.set_register(register, value)
        self._stub.set_register(XPSR, access.advanced(self._stub.register(XPSR)))
        self._stub.set_register(PC, pc + executed.size)

    def _serve_adapter(self, addr: int, register: int, loads: bool) -> None:
        """Read or write a register of a timing adapter."""
        if loads:
            self._stub.set_register(register, self._adapters.read(addr))
        else:
            self._adapters.write(addr, self._stub.register(register))

    def _write(self, index: int, value: int) -> None:
        if self._is_held and index == RESET:  # which ends the unfinished stream
            self._is_held, self._ends_s = False, None
            self._page[CMD] &= _POWER
        starts = index == CMD and bool(value & RUN) and not self._is_held
        self._page[index] = value
        if starts:
            self._starts += 1
            self._hold()
        if starts and not self._is_held:
            self._execute()
        elif not self._is_held:
            self._model.poll()
        if index == CMD and value & CLEAR_IRQ:
            self._line.set(False)

    def _hold(self) -> None:
        """Postpone a stream, and show it as running, if it must end late or never."""
        hangs = self._starts == self._troubles.hang
        if not hangs and not self._troubles.delay_s:
            return
        self._is_held = True
        self._ends_s = None if hangs else time.monotonic() + self._troubles.delay_s
        self._page[STATUS] &= ~np.uint32(_IRQ_RAISED | _CMD_END_REACHED)
        self._page[STATUS] |= _RUNNING
        self._page[QREAD] = 0

    def _execute(self) -> None:
        """Run the stream that CMD has started."""
        self._memory.load()
        self._page[CMD] |= RUN  # a later write, such as one that clears the interrupt, lacks it
        self._model.poll()
        self._memory.store()
        self._report()

    def _report(self) -> None:
        """Log the stream that has just run; without a reset after a bus fault, none has."""
        run, fault = self._model.last_run, self._model.last_fault
        if run is None or run is self._reported:
            return
        self._reported = run
        self._inferences += 1
        message = str(fault) if fault else ""
        self._log(Inference(self._inferences, self._place.npu, *run, message))

    def _raise_interrupt(self) -> None:
        if self._starts != self._troubles.drop_irq:
            self._line.set(True)

    def _next_stray(self) -> float | None:
        every_s = self._troubles.spurious_s
        return None if every_s is None else time.monotonic() + every_s
