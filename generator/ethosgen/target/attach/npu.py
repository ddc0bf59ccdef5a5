"""The NPU model's registers behind a watchpoint, its interrupt, and the log of inferences."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ethosgen.backend.protocol import Attach, NpuModel, SharedMemory
from ethosgen.target.attach import access
from ethosgen.target.attach.memory import GuestMemory
from ethosgen.target.attach.monitor import InterruptLine
from ethosgen.target.attach.stub import PC, XPSR, Stub
from ethosgen.values.errors import TargetError
from ethosgen.values.stream_run import StreamRun

CMD = 2
"""The index of the register CMD, the same in all generations."""
RUN, CLEAR_IRQ = 1, 2


@dataclass(frozen=True)
class Inference:
    """What the model did for one start of the NPU.

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
class Place:
    """Where a firmware has its NPU: name, addresses of its registers, their size in bytes."""

    npu: str
    bases: tuple[int, ...]
    register_bytes: int

    def offset(self, addr: int) -> int | None:
        """Return the offset of a register's address, None if no register is there."""
        inside = (addr - base for base in self.bases)
        return next((one for one in inside if 0 <= one < self.register_bytes), None)


class WatchedNpu:
    """An NPU model whose registers are behind a watchpoint of QEMU's."""

    def __init__(
        self,
        stub: Stub,
        place: Place,
        attach: Attach,
        mapped: SharedMemory,
        memory: GuestMemory,
        line: InterruptLine,
        log: Log,
    ) -> None:
        self._stub = stub
        self._place = place
        self._memory = memory
        self._line = line
        self._log = log
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

    def watch(self) -> None:
        """Set the watchpoints."""
        for base in self._place.bases:
            self._stub.watch(base, self._place.register_bytes)

    def owns(self, addr: int) -> bool:
        """Return whether a watchpoint's address is that of the registers."""
        return self._place.offset(addr) is not None

    def serve(self) -> None:
        """Execute the instruction that has met the watchpoint; TargetError if none accesses words.

        The processor is before the instruction, and behind it afterwards.
        """
        pc = self._stub.register(PC)
        one = access.decode(self._stub.read(pc, access.LONGEST_BYTES), pc, self._stub.register)
        for addr, register in one.words:
            offset = self._place.offset(addr)
            if offset is None or offset % 4:
                raise TargetError(
                    f"the instruction at 0x{pc:08x} accesses 0x{addr:08x} and the NPU's registers "
                    "at once, or none of them: access each by its own load or store"
                )
            if one.loads:
                self._stub.set_register(register, int(self._page[offset // 4]))
            else:
                self._write(offset // 4, self._stub.register(register))
        for register, value in one.updates.items():
            self._stub.set_register(register, value)
        self._stub.set_register(XPSR, access.advanced(self._stub.register(XPSR)))
        self._stub.set_register(PC, pc + one.size)

    def _write(self, index: int, value: int) -> None:
        starts = index == CMD and bool(value & RUN)
        if starts:
            self._memory.load()
        self._page[index] = value
        self._model.poll()
        if starts:
            self._memory.store()
            self._report()
        if index == CMD and value & CLEAR_IRQ:
            self._line.set(False)

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
        self._line.set(True)
