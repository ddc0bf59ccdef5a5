"""Disassemble a command stream: list each command, and describe each operation.

    0x000148  NPU_OP_CONV
              ; CONV 48x48x8 <- 96x96x1, kernel 3x3, stride 2x2, …

Registers keep their value, and a region can be set after the addresses in it. So commands are
listed when the following operation is known, and an address is shown with its region at that point.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import DmaRegionMode, Field
from ethosgen.backend.ethosu.simulator.decode import Instruction, decode, is_operation
from ethosgen.backend.ethosu.simulator.generation import registers_of
from ethosgen.backend.ethosu.simulator.operation import Operation
from ethosgen.backend.ethosu.simulator.state import CommandRegisters
from ethosgen.backend.ethosu.simulator.summary import place, summary
from ethosgen.values.errors import NpuFault

_NAME_COLUMNS = 28
_DMA_REGIONS = ("DMA0_SRC_REGION", "DMA0_DST_REGION")
STOP = "NPU_OP_STOP"


@dataclass(frozen=True)
class ListedCommand:
    """One command at byte `offset`. `fields` are decoded: codes by Arm's name, else numbers.

    An address is text, region:0xoffset. `summary` describes an operation, "" for other commands.
    """

    offset: int
    command: str
    fields: dict[str, int | str] = field(default_factory=dict)
    summary: str = ""

    @property
    def text(self) -> str:
        """The line, with the summary of an operation below it."""
        shown = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        first = f"0x{self.offset:06x}  {self.command:<{_NAME_COLUMNS}} {shown}".rstrip()
        return f"{first}\n          ; {self.summary}" if self.summary else first

    def as_json(self) -> dict[str, Any]:
        """Return the line as an object of JSON types."""
        content: dict[str, Any] = {"offset": self.offset, "command": self.command}
        content["fields"] = self.fields
        if self.summary:
            content["summary"] = self.summary
        return content


def disassemble(stream: bytes, accelerator: EthosU) -> Iterator[ListedCommand]:
    """Yield a line for each command up to NPU_OP_STOP, which ends a stream.

    Raises NpuFault of kind "parse", after the lines before it, at the first word that is not a
    command, and if the stream ends without NPU_OP_STOP. The summary of an operation with invalid
    registers says so.
    """
    registers = registers_of(accelerator)
    pending: list[Instruction] = []
    try:
        for instruction in decode(stream, registers.isa):
            if not is_operation(instruction):
                registers.set(instruction)
                pending.append(instruction)
                continue
            yield from (_line(instruction, registers) for instruction in pending)
            pending.clear()
            yield _line(instruction, registers, _summary(instruction, registers))
            if instruction.command.name == STOP:
                return
        raise NpuFault("parse", f"the stream ends without {STOP}", len(stream))
    except NpuFault:
        yield from (_line(instruction, registers) for instruction in pending)
        raise


def _line(instruction: Instruction, registers: CommandRegisters, about: str = "") -> ListedCommand:
    command = instruction.command
    return ListedCommand(
        instruction.offset, command.name, dict(_fields(instruction, registers)), about
    )


def _fields(
    instruction: Instruction, registers: CommandRegisters
) -> Iterator[tuple[str, int | str]]:
    """Yield name and value of each field; combine the two halves of an address."""
    names = [part.name for part in instruction.command.fields]
    if names == ["addr_hi", "addr_lo"]:
        is_address = instruction.command.register in registers.isa.region_registers
        yield "addr" if is_address else "value", _address(instruction, registers)
        return
    for part in instruction.command.fields:
        yield part.name, _value(part, part.get(instruction.operand))


def _value(layout: Field, value: int) -> int | str:
    if layout.values:
        names = (code.name for codes in layout.values for code in codes if code == value)
        return next(names, f"{value}?")
    return value - layout.limit if layout.signed and value >= layout.limit // 2 else value


def _address(instruction: Instruction, registers: CommandRegisters) -> int | str:
    """Format an address with its region; return other values (a stride, a length) as numbers."""
    fields, operand = instruction.command.fields, instruction.operand
    value = fields[1].get(operand) | fields[0].get(operand) << 32
    register = instruction.command.register
    region_register = registers.isa.region_registers.get(register)
    if region_register is None:
        return _signed(value) if "STRIDE" in register or "SKIP" in register else value
    internal = (
        region_register in _DMA_REGIONS
        and registers.field(region_register, "region_mode") == DmaRegionMode.INTERNAL
    )
    region = None if internal else registers.field(region_register, "region")
    return place(region, value, registers.isa.inner)


def _signed(value: int) -> int:
    """Interpret a stride as two's complement of 32 bits (U55) or 40 (U65); none reaches 2 GiB."""
    bits = 40 if value >> 32 else 32
    return value - (1 << bits) if value >> bits - 1 else value


def _summary(instruction: Instruction, registers: CommandRegisters) -> str:
    try:
        operation = registers.operation(instruction)
    except NpuFault as fault:
        return f"invalid: {fault.reason}"
    if operation is None:
        return ""
    return summary(operation, _block(operation, registers))


def _block(operation: Operation, registers: CommandRegisters) -> tuple[int, int, int] | None:
    if operation.ofm is None:
        return None
    return (
        registers.value("OFM_BLK_HEIGHT_M1") + 1,
        registers.value("OFM_BLK_WIDTH_M1") + 1,
        registers.value("OFM_BLK_DEPTH_M1") + 1,
    )
