"""An NPU command, added as CONTRIBUTING says: a row of the ISA, a value, its code, a test."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ethosgen.backend.ethosu.isa import (
    BY_CODE,
    BY_NAME,
    CMD0,
    Command,
    Field,
)
from ethosgen.backend.ethosu.simulator import effort, summary
from ethosgen.backend.ethosu.simulator.assemble import assemble
from ethosgen.backend.ethosu.simulator.cycles import operation_cycles
from ethosgen.backend.ethosu.simulator.machine import PREPARE
from ethosgen.backend.ethosu.simulator.operation import Access, Channel, CopyAccess
from ethosgen.backend.ethosu.simulator.ops.context import Action, Context
from ethosgen.backend.ethosu.simulator.state import BUILDERS, Registers
from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import SCRATCH_BYTES, Bench, sets

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


def build(registers: Registers, operand: int) -> Any:
    length = registers.value("DMA0_LEN")
    region, address = registers.field("DMA0_DST_REGION", "region"), registers.value("DMA0_DST")
    shape, strides = (1, 1, length), (length, length, 1)
    write = CopyAccess("fill", Channel.DMA_WRITE, region, address, shape, strides)
    return Fill(write, FILL.field("value").get(operand))


def prepare(context: Context, operation: Fill, _ofm: None) -> Action:
    end = operation.write
    address = context.base(end.region or 0) + end.address
    target = context.bus.window(address, end.shape, end.strides, np.dtype(np.uint8), True)
    return lambda: target.fill(operation.value)


@pytest.fixture(autouse=True)
def fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the command where CONTRIBUTING lists."""
    monkeypatch.setitem(BY_CODE, (FILL.control, FILL.code), FILL)  # type: ignore[arg-type]
    monkeypatch.setitem(BY_NAME, FILL.name, FILL)  # type: ignore[arg-type]
    monkeypatch.setitem(BUILDERS, FILL.name, build)
    monkeypatch.setitem(PREPARE, Fill, prepare)
    costs: Any = operation_cycles
    costs.register(Fill, lambda operation, _accelerator: operation.write.bytes / 8)
    times: Any = effort.nanoseconds
    times.register(Fill, lambda operation: operation.write.bytes * 0.5)
    names: Any = summary.title
    names.register(Fill, lambda operation: f"FILL {operation.write.bytes}")


DESTINATION = [("NPU_SET_DMA0_DST_REGION", {"region": 1})]
START = [(FILL.name, {"value": 7})]


def test_a_registered_command_runs_and_is_counted() -> None:
    bench = Bench()
    report = bench.run(DESTINATION, sets(DMA0_DST=3, DMA0_LEN=40), START)
    assert bench.get(0, (5,)).tolist() == [0, 0, 0, 7, 7]
    assert bench.get(0, (50,)).sum() == 40 * 7
    assert report.activity.written == {1: 40}
    assert report.cycles == 40 / 8


def test_its_faults_name_the_command_and_the_channel() -> None:
    bench = Bench()
    with pytest.raises(NpuFault, match=r"NPU_OP_FILL.*write outside the memories"):
        bench.run(DESTINATION, sets(DMA0_DST=SCRATCH_BYTES, DMA0_LEN=1), START)


def test_an_unregistered_command_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = assemble(START)
    monkeypatch.delitem(BY_CODE, (FILL.control, FILL.code))  # type: ignore[arg-type]
    with pytest.raises(NpuFault, match="is not a command of Ethos-U55 or U65"):
        Bench().run_bytes(stream)


def test_every_operation_of_the_isa_is_complete() -> None:
    """Each kind that a command starts has its execution, cycles (not on U85), time and title."""
    for kind in PREPARE:
        for function in (operation_cycles, effort.nanoseconds, summary.title):
            lookup: Any = function
            is_other = ".u85." in kind.__module__ or kind.__name__ == "Dma"
            assert (is_other and function is operation_cycles) or lookup.dispatch(
                kind
            ) is not lookup.dispatch(object), kind
