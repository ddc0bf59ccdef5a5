"""Decodes words into commands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ethosgen.backend.ethosu.isa import (
    CONTROL_LSB,
    OPCODE_MASK,
    PARAMETER_BITS,
    U55,
    Command,
    CommandKind,
    InstructionSet,
)
from ethosgen.values.errors import NpuFault
from ethosgen.values.grammar import counted

_WORD_BYTES = 4
_RESERVED_MASK = 0x3C00


@dataclass(frozen=True, slots=True)
class Instruction:
    """A command with its operand, at byte `offset` of its stream."""

    command: Command
    operand: int
    offset: int

    @property
    def fields(self) -> Mapping[str, int]:
        """The operand's fields by name."""
        return {field.name: field.get(self.operand) for field in self.command.fields}

    @property
    def next_offset(self) -> int:
        """Byte offset of the next command."""
        return self.offset + self.command.words * _WORD_BYTES


def decode(stream: bytes, isa: InstructionSet = U55, start: int = 0) -> Iterator[Instruction]:
    """Yield the instructions of a stream of little-endian words, in order, from byte `start` on.

    Raises NpuFault of kind "parse" at the first word that is not a command of `isa`, and if the
    stream ends inside a command. Parameter bits that Arm reserves are ignored, because older
    compilers set some of them.
    """
    if len(stream) % _WORD_BYTES:
        raise NpuFault(
            "parse", f"the stream is {counted(len(stream), 'byte')} long, not a multiple of 4"
        )
    words = np.frombuffer(stream, "<u4").tolist()
    position, by_code = start // _WORD_BYTES, isa.by_code
    while position < len(words):
        word = words[position]
        offset = position * _WORD_BYTES
        command = by_code.get((word >> CONTROL_LSB & 3, word & OPCODE_MASK))
        if command is None or word & _RESERVED_MASK:
            raise NpuFault("parse", f"0x{word:08x} is not a command of {isa.products}", offset)
        operand = word >> PARAMETER_BITS
        position += command.words
        if command.words == 2:
            if position > len(words):
                reason = "the stream ends before the payload of this command"
                raise NpuFault("parse", reason, offset, command.name)
            operand |= words[position - 1] << PARAMETER_BITS
        yield Instruction(command, operand, offset)


def is_operation(instruction: Instruction) -> bool:
    """Return whether the instruction starts or orders work, rather than setting a register."""
    return instruction.command.kind is CommandKind.OPERATION
