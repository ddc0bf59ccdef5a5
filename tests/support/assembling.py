"""Encodes commands of the NPU into words: the inverse of the simulator's decode."""

from collections.abc import Iterable, Mapping

from ethosgen.backend.ethosu.isa import PARAMETER_BITS, U55, InstructionSet
from ethosgen.values.grammar import counted


def encode(name: str, fields: Mapping[str, int], isa: InstructionSet = U55) -> bytes:
    """Return one command as little-endian words.

    Missing fields are 0; a negative value becomes two's complement. `addr` stands for addr_lo and
    addr_hi. Raises KeyError for an unknown name or field, ValueError for a value that does not
    fit.
    """
    command = isa.by_name[name]
    values = dict(fields)
    if "addr" in values:
        address = values.pop("addr") & (1 << 40) - 1
        values["addr_lo"], values["addr_hi"] = address & 0xFFFFFFFF, address >> 32
    operand = 0
    for key, value in values.items():
        field = command.field(key)
        if not -(field.limit // 2) <= value < field.limit:
            raise ValueError(
                f"{name}: {key} = {value} does not fit in {counted(field.bits, 'bit')}"
            )
        operand |= (value & field.limit - 1) << field.lsb
    word = command.code | command.control << 14 | (operand & 0xFFFF) << PARAMETER_BITS
    payload = (operand >> PARAMETER_BITS).to_bytes(4, "little") if command.words == 2 else b""
    return word.to_bytes(4, "little") + payload


def assemble(program: Iterable[tuple[str, Mapping[str, int]]], isa: InstructionSet = U55) -> bytes:
    """Return a stream of commands, each as Arm's name and its fields."""
    return b"".join(encode(name, fields, isa) for name, fields in program)
