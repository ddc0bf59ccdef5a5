"""An NPU command, added as CONTRIBUTING says: a row of the ISA, one module, one line of PREPARE."""

from typing import Any

import pytest

from ethosgen.backend.ethosu.isa import BY_CODE, BY_NAME
from ethosgen.backend.ethosu.simulator import effort, summary
from ethosgen.backend.ethosu.simulator.cycles import operation_cycles
from ethosgen.backend.ethosu.simulator.machine import PREPARE
from ethosgen.values.errors import NpuFault
from tests.support.assembling import assemble
from tests.support.fill_command import FILL, Fill, prepare
from tests.support.npu_bench import SCRATCH_BYTES, Bench, sets


@pytest.fixture(autouse=True)
def fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add what is outside the command's module."""
    monkeypatch.setitem(BY_CODE, (FILL.control, FILL.code), FILL)  # type: ignore[arg-type]
    monkeypatch.setitem(BY_NAME, FILL.name, FILL)  # type: ignore[arg-type]
    monkeypatch.setitem(PREPARE, Fill, prepare)


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
