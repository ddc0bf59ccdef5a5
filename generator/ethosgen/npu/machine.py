"""The functional model: runs a command stream on real memory."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ethosgen.accelerator import Accelerator
from ethosgen.errors import NpuFault
from ethosgen.npu import effort, feature_map
from ethosgen.npu.activity import Activity, measure
from ethosgen.npu.decode import decode, is_operation
from ethosgen.npu.memory import Bus
from ethosgen.npu.operation import Convolution, Dma, Elementwise, Operation, Pool, Step
from ethosgen.npu.ops import conv, dma, elementwise, pool
from ethosgen.npu.ops.context import Context, WeightCache
from ethosgen.npu.state import Registers

_log = logging.getLogger(__name__)

_MAX_PROGRAMS = 64
LIMIT_S = 2.0
"""Of futile work, estimated, for one run of a stream; networks have none, whatever their size."""
_WAITS = {"NPU_OP_DMA_WAIT": "dma_wait", "NPU_OP_KERNEL_WAIT": "kernel_wait"}


@dataclass(frozen=True)
class RunReport:
    """What a stream did. `consumed` is QREAD; `activity` and its cycles are estimates."""

    operations: int
    macs: int
    cycles: int
    commands: int
    consumed: int
    irq_mask: int = 0
    activity: Activity = field(default_factory=Activity, repr=False)


class Observer(Protocol):
    """Is told of each operation as it runs; see trace.py."""

    def before(self, context: Context, step: Step) -> None:
        """Note that an operation begins."""

    def after(self, context: Context, step: Step, macs: int) -> None:
        """Note that an operation has ended, with as many multiplications."""


@dataclass(frozen=True)
class _Program:
    """A decoded stream: its operations up to STOP or up to the command that makes no sense."""

    steps: tuple[Step, ...]
    effort_s: tuple[float, ...]
    """Futile work up to the end of each step."""
    commands: int
    consumed: int
    irq_mask: int
    activity: Activity
    fault: NpuFault | None


class Machine:
    """An Ethos-U55 or U65 on a bus."""

    def __init__(
        self,
        accelerator: Accelerator,
        bus: Bus,
        observer: Observer | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        """Take the bus, who watches, and the limit of a run's futile work; see effort.py."""
        self.accelerator = accelerator
        self.bus = bus
        self.observer = observer
        self._limit_s = limit_s
        self._cache = WeightCache()
        self._programs: dict[bytes, _Program] = {}
        self._shram = np.zeros(accelerator.shram_kib * 1024 // accelerator.cores, np.uint8)

    def run(self, stream_addr: int, stream_bytes: int, bases: Sequence[int]) -> RunReport:
        """Run the register commands at `stream_addr` until NPU_OP_STOP.

        `bases[i]` is BASEPi. Operations run one after another in stream order, which is one of the
        orders that the waits and BLOCKDEP of a correct stream allow. Raises NpuFault with the
        offset and name of the command; what earlier operations wrote remains.
        """
        program = self._load(self.bus.read(stream_addr, stream_bytes))
        context = Context(self.accelerator, self.bus, bases, self._shram, self._cache)
        macs = 0
        for step, effort_s in zip(program.steps, program.effort_s, strict=True):
            if effort_s > self._limit_s:
                reason = "the stream keeps asking for work that comes to nothing"
                raise NpuFault("timeout", reason, step.offset, step.command)
            done = self._execute(context, step)
            products = done if isinstance(step.operation, Convolution) else 0
            macs += products
            if self.observer is not None:
                self.observer.after(context, step, products)
        if program.fault is not None:
            raise program.fault
        return RunReport(
            len(program.steps),
            macs,
            program.activity.cycles,
            program.commands,
            program.consumed,
            program.irq_mask,
            program.activity,
        )

    def _execute(self, context: Context, step: Step) -> int:
        try:
            if self.observer is not None:
                self.observer.before(context, step)
            with np.errstate(all="ignore"):  # integers wrap silently, as in hardware
                work = execute(context, step.operation)
        except NpuFault as fault:
            raise NpuFault(fault.kind, fault.reason, step.offset, step.command) from None
        _log.debug("0x%06x %s: %d", step.offset, step.command, work)
        return work

    def _load(self, stream: bytes) -> _Program:
        program = self._programs.get(stream)
        if program is None:
            program = load(stream, self.accelerator)
            if len(self._programs) >= _MAX_PROGRAMS:
                self._programs.pop(next(iter(self._programs)))
            self._programs[stream] = program
        return program


def execute(context: Context, operation: Operation) -> int:
    """Carry out one operation; returns its work in its own unit (products, elements, bytes)."""
    if not isinstance(operation, Dma):
        ofm = operation.ofm
        feature_map.check_write(context.bus, ofm.fm, context.base(ofm.fm.region), ofm.shape)
    match operation:
        case Convolution():
            return conv.run(context, operation)
        case Pool():
            return pool.run(context, operation)
        case Elementwise():
            return elementwise.run(context, operation)
        case Dma():
            return dma.run(context, operation)


def load(stream: bytes, accelerator: Accelerator) -> _Program:
    """Decode a stream into operations; a fault is kept, to be raised when execution gets there."""
    registers = Registers(accelerator)
    steps: list[Step] = []
    commands = consumed = irq_mask = 0
    waits: dict[str, int] = {}
    try:
        for instruction in decode(stream):
            commands += 1
            consumed = instruction.next_offset
            name = instruction.command.name
            if not is_operation(instruction):
                registers.set(instruction)
                continue
            if name == "NPU_OP_STOP":
                irq_mask |= instruction.operand
                activity = measure(accelerator, steps)
                return _program(steps, commands, consumed, irq_mask, activity, None)
            if name == "NPU_OP_IRQ":
                irq_mask |= instruction.operand
            if name in _WAITS:
                waits[_WAITS[name]] = instruction.operand
            try:
                operation = registers.operation(instruction)
            except NpuFault as fault:
                raise NpuFault(fault.kind, fault.reason, instruction.offset, name) from None
            if operation is not None:
                steps.append(Step(operation, instruction.offset, name, **waits))
                waits = {}
        raise NpuFault("parse", "the stream ends without NPU_OP_STOP", len(stream))
    except NpuFault as fault:
        return _program(steps, commands, consumed, irq_mask, Activity(), fault)


def _program(steps: list[Step], *rest: Any) -> _Program:
    return _Program(tuple(steps), tuple(effort.futile(steps)), *rest)
