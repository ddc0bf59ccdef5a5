"""An NPU operation in one module, as CONTRIBUTING says: value, builder, code, cycles, time, title.

Its command is a row of the ISA, and `generation.PREPARE` names its code: three files in all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.isa import CMD0, Command, Field
from ethosgen.backend.ethosu.simulator.cycles import operation_cycles
from ethosgen.backend.ethosu.simulator.effort import nanoseconds
from ethosgen.backend.ethosu.simulator.operation import Access, Channel, CopyAccess
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.state import BUILDERS, CommandRegisters
from ethosgen.backend.ethosu.simulator.summary import title

FILL = Command(31, CMD0, "NPU_OP_FILL", (Field("value", 0, 8),))
"""No Ethos-U has it: it stores bytes of one value at DMA0_DST."""


@dataclass(frozen=True, slots=True)
class Fill:
    """NPU_OP_FILL."""

    write: CopyAccess
    value: int

    ofm: None = None
    macs: int = 0

    def accesses(self) -> Iterator[Access]:
        yield self.write


def _build(registers: CommandRegisters, operand: int) -> Any:
    length = registers.value("DMA0_LEN")
    region, address = registers.field("DMA0_DST_REGION", "region"), registers.value("DMA0_DST")
    shape, strides = (1, 1, length), (length, length, 1)
    write = CopyAccess("fill", Channel.DMA_WRITE, region, address, shape, strides)
    return Fill(write, FILL.field("value").get(operand))


BUILDERS[FILL.name] = _build


def prepare(context: Context, operation: Fill, _ofm: None) -> Action:
    end = operation.write
    address = context.base(end.region or 0) + end.address
    target = context.bus.window(address, end.shape, end.strides, np.dtype(np.uint8), True)
    return lambda: target.fill(operation.value)


@operation_cycles.register
def _cycles(operation: Fill, _accelerator: EthosU) -> float:
    return operation.write.bytes / 8


@nanoseconds.register
def _nanoseconds(operation: Fill) -> float:
    return operation.write.bytes * 0.5


@title.register
def _title(operation: Fill) -> str:
    return f"FILL {operation.write.bytes}"
