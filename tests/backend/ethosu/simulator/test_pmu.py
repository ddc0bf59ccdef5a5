"""The performance monitor, used as ethosu_pmu.c of Arm's driver uses it."""

import pytest

from ethosgen.backend.ethosu.pmu_event import PmuEvent
from ethosgen.backend.ethosu.simulator import pmu
from ethosgen.backend.ethosu.simulator import registers as reg
from tests.backend.ethosu.simulator.test_registers import Driver
from tests.support.npu_bench import Program, ifm, kernel, ofm, sets

POOL: Program = [
    *ifm(0, (8, 8, 16)),
    *ofm(0x400, (8, 8, 16)),
    *kernel(1, 1),
    *sets(OFM_BLK_HEIGHT_M1=7, OFM_BLK_WIDTH_M1=7, OFM_BLK_DEPTH_M1=15),
    ("NPU_OP_POOL", {"pooling_mode": 1}),
]
CYCLES = 1856
"""Cycles of that pool on ethos-u55-128, see test_cycles.py; the MAC unit is busy for 1024."""


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.reset()
    driver.write(pmu.PMCR, pmu.PMCR_CNT_EN)  # ETHOSU_PMU_Enable writes nothing else
    return driver


def run(driver: Driver) -> None:
    driver.submit(POOL)
    assert driver.file.poll()
    assert driver.handle_interrupt()


def test_cycles_add_up(driver: Driver) -> None:
    driver.write(pmu.PMCNTENSET, pmu.CYCLE_COUNTER)
    for count in (1, 2):
        run(driver)
        assert driver.read(pmu.PMCCNTR) == count * CYCLES
    assert driver.read(pmu.PMCR) == 0x2001
    assert driver.read(pmu.PMCNTENSET) == pmu.CYCLE_COUNTER


def test_nothing_is_counted_unasked(driver: Driver) -> None:
    run(driver)
    driver.write(pmu.PMCNTENSET, pmu.CYCLE_COUNTER)
    driver.write(pmu.PMCR, 0)
    run(driver)
    assert driver.read(pmu.PMCCNTR) == 0


def test_events(driver: Driver) -> None:
    # 1024 bytes in and out, 8 a beat. Region 1 is on port 1 where REGIONCFG says 2 or 3.
    chosen = (
        PmuEvent.MAC_ACTIVE,
        PmuEvent.AXI0_RD_DATA_BEAT_RECEIVED,
        PmuEvent.AXI0_WR_DATA_BEAT_WRITTEN,
        999,
    )
    for index, event in enumerate(chosen):
        driver.write(pmu.PMEVTYPER0 + 4 * index, event)
    driver.write(pmu.PMCNTENSET, 0xF)
    run(driver)
    counts = [driver.read(pmu.PMEVCNTR0 + 4 * index) for index in range(4)]
    assert counts == [1024, 128, 128, 0]
    driver.write(pmu.PMEVTYPER0, PmuEvent.AXI1_RD_DATA_BEAT_RECEIVED)
    driver.write(pmu.PMEVCNTR0, 0)
    driver.write(reg.REGIONCFG, 2 << 2)
    run(driver)
    assert [driver.read(pmu.PMEVCNTR0 + 4 * index) for index in range(2)] == [128, 128]


def test_counters_are_reset_separately(driver: Driver) -> None:
    driver.write(pmu.PMEVTYPER0, PmuEvent.CYCLE)
    driver.write(pmu.PMCNTENSET, pmu.CYCLE_COUNTER | 1)
    run(driver)
    driver.write(pmu.PMCR, driver.read(pmu.PMCR) | pmu.PMCR_EVENT_CNT_RST)
    assert driver.file.poll()
    assert (driver.read(pmu.PMEVCNTR0), driver.read(pmu.PMCCNTR)) == (0, CYCLES)
    driver.write(pmu.PMCR, driver.read(pmu.PMCR) | pmu.PMCR_CYCLE_CNT_RST)
    assert driver.file.poll()
    assert driver.read(pmu.PMCCNTR) == 0
    assert driver.read(pmu.PMCR) == 0x2001
    assert not driver.file.poll()


def test_enables_are_set_and_cleared(driver: Driver) -> None:
    for mask in (1, 4):
        driver.write(pmu.PMCNTENSET, mask)
        driver.file.poll()
    assert driver.read(pmu.PMCNTENSET) == 5
    driver.write(pmu.PMCNTENCLR, 5)
    assert driver.file.poll()
    assert (driver.read(pmu.PMCNTENSET), driver.read(pmu.PMCNTENCLR)) == (0, 0)


def test_an_overflow_is_flagged(driver: Driver) -> None:
    driver.write(pmu.PMEVTYPER0, PmuEvent.CYCLE)
    driver.write(pmu.PMCNTENSET, 1)
    driver.write(pmu.PMINTSET, 1)
    driver.write(pmu.PMEVCNTR0, 0xFFFF_FFFF)
    run(driver)
    assert driver.read(pmu.PMEVCNTR0) == CYCLES - 1
    assert driver.read(pmu.PMOVSSET) == 1
    assert driver.read(reg.STATUS) & reg.STATUS_PMU_IRQ_RAISED
    driver.write(reg.CMD, driver.read(reg.CMD) | reg.CMD_CLEAR_IRQ)
    driver.file.poll()
    assert not driver.read(reg.STATUS) & reg.STATUS_PMU_IRQ_RAISED
    driver.write(pmu.PMOVSCLR, 1)
    driver.file.poll()
    assert driver.read(pmu.PMOVSSET) == 0


def test_a_reset_stops_and_clears(driver: Driver) -> None:
    driver.write(pmu.PMCNTENSET, pmu.CYCLE_COUNTER)
    run(driver)
    assert driver.reset()
    assert driver.read(pmu.PMCCNTR) == 0
    run(driver)
    assert driver.read(pmu.PMCCNTR) == 0
    assert driver.read(pmu.PMCR) == 0x2000


@pytest.mark.parametrize("seen_between", [False, True])
def test_counting_begins_again_after_a_reset(driver: Driver, seen_between: bool) -> None:
    # Whether the model looks at the page between the reset and what follows is a matter of luck.
    for _ in range(2):
        driver.write(reg.RESET, 1)
        if seen_between:
            driver.file.poll()
        control = pmu.PMCR_CNT_EN | pmu.PMCR_CYCLE_CNT_RST | pmu.PMCR_EVENT_CNT_RST
        driver.write(pmu.PMCR, control)
        driver.write(pmu.PMEVTYPER0, PmuEvent.MAC_ACTIVE)
        driver.write(pmu.PMCNTENSET, pmu.CYCLE_COUNTER | 1)
        run(driver)
        assert (driver.read(pmu.PMCCNTR), driver.read(pmu.PMEVCNTR0)) == (CYCLES, 1024)
        driver.write(pmu.PMCR, 0)
        driver.file.poll()
        assert driver.read(pmu.PMCCNTR) == CYCLES
