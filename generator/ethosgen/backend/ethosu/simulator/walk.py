"""Reads a stream's commands in the order in which the NPU executes them."""

from collections.abc import Generator, Iterator

from ethosgen.backend.ethosu.isa_u85 import BranchCondition
from ethosgen.backend.ethosu.simulator.decode import Instruction, decode, is_operation
from ethosgen.backend.ethosu.simulator.operation import IssuedOperation
from ethosgen.backend.ethosu.simulator.state import CommandRegisters
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

MOST_COMMANDS = 1_000_000
"""Commands of one run of a stream, after which a loop is taken to be endless."""

_WAITS = {"NPU_OP_DMA_WAIT": "dma_wait", "NPU_OP_KERNEL_WAIT": "kernel_wait"}


class Walk:
    """The path of one run through a stream, up to NPU_OP_STOP.

    U85's branches are taken if `follows`; otherwise each command comes once, in stream order.
    `flag` is COND_STATUS.result_flag, which the caller sets after each operation: whether its
    result is not 0, or None if the model does not know. (Regor's GraphIrOptimiser::FixupControlFlow
    and SchedulerPacking put an operation with the condition as its only result before a branch.)
    """

    def __init__(self, stream: bytes, registers: CommandRegisters, *, follows: bool) -> None:
        self._stream = stream
        self._registers = registers
        self._follows = follows
        self._waits: dict[str, int] = {}
        self.flag: bool | None = False
        self.commands = 0
        self.consumed = 0
        """Byte offset after the last command: QREAD."""
        self.irq_mask = 0
        self.has_branches = False

    def steps(self) -> Iterator[IssuedOperation]:
        """Yield each operation as it starts; NpuFault for an invalid command when it is reached."""
        start: int | None = 0
        while start is not None:
            start = yield from self._stretch(start)

    def _stretch(self, start: int) -> Generator[IssuedOperation, None, int | None]:
        """Yield the operations up to the next taken branch; return its target, None at the end."""
        for instruction in decode(self._stream, self._registers.isa, start):
            self._count(instruction)
            name = instruction.command.name
            if not is_operation(instruction):
                self._registers.set(instruction)
                continue
            if name in ("NPU_OP_STOP", "NPU_OP_IRQ"):
                self.irq_mask |= instruction.operand
            if name == "NPU_OP_STOP":
                return None
            if name == "NPU_OP_BRANCH":
                self.has_branches = True
                if self._follows and self._is_taken(instruction):
                    return self._target(instruction)
            elif name in _WAITS:
                self._waits[_WAITS[name]] = instruction.operand
            else:
                yield from self._issued(instruction)
        raise NpuFault("parse", "the stream ends without NPU_OP_STOP", len(self._stream))

    def _count(self, instruction: Instruction) -> None:
        self.commands += 1
        self.consumed = instruction.next_offset
        if self.has_branches and self.commands > MOST_COMMANDS:
            reason = f"the stream does not end within {counted(MOST_COMMANDS, 'command')}"
            raise _at(NpuFault("timeout", reason), instruction)

    def _issued(self, instruction: Instruction) -> Iterator[IssuedOperation]:
        try:
            operation = self._registers.operation(instruction)
        except NpuFault as fault:
            raise _at(fault, instruction) from None
        if operation is not None:
            waits, self._waits = self._waits, {}
            name = instruction.command.name
            yield IssuedOperation(operation, instruction.offset, name, **waits)

    def _is_taken(self, branch: Instruction) -> bool:
        if branch.fields["branch_cond"] == BranchCondition.ALWAYS:
            return True
        if self.flag is None:
            reason = "the operation before the branch has several results, which is not modelled"
            raise _at(NpuFault("branch", reason), branch)
        return self.flag

    def _target(self, branch: Instruction) -> int:
        target = branch.fields["branch_target"]
        if target % 4 or target >= len(self._stream):
            reason = f"the branch's target 0x{target:x} is not a command of the stream"
            raise _at(NpuFault("branch", reason), branch)
        return target


def _at(fault: NpuFault, instruction: Instruction) -> NpuFault:
    return NpuFault(fault.kind, fault.reason, instruction.offset, instruction.command.name)
