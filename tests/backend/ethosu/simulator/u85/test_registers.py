"""U85's register face, driven as Arm's core driver drives it (ethosu_device_u85.c).

Offsets and bits by hand from Arm's ethosu85_interface.h.
"""

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.pmu_event import PmuEvent
from ethosgen.backend.ethosu.simulator import pmu
from ethosgen.backend.ethosu.simulator import registers as reg
from ethosgen.backend.ethosu.simulator.operation import Channel
from ethosgen.backend.ethosu.simulator.register_map import register_map
from tests.backend.ethosu.simulator.test_registers import Driver
from tests.support.npu_bench import STREAM, Program, sets

MEM_ATTR, AXI_SRAM, AXI_EXT, POWER_CTRL = 0x40, 0x50, 0x54, 0x38
PMCR, PMCNTENSET, PMEVCNTR, PMEVTYPER = 0x1180, 0x1184, 0x1300, 0x1380
EXTERNAL = 1 << 2
FAR = 1 << 20


def copy(length: int = 64, **more: int) -> Program:
    """Return commands that copy in region 1, from 0 to 0x100."""
    start: Program = [("NPU_OP_DMA_START", {})]
    values = {"DMA0_SRC": 0, "DMA0_DST": 0x100, "DMA0_LEN": length, **more}
    return [*sets(DMA0_SRC_REGION=1, DMA0_DST_REGION=1, **values), *start]


@pytest.fixture
def driver() -> Driver:
    driver = Driver("ethos-u85-256")
    assert driver.reset()
    for index, attribute in enumerate((0, 0, EXTERNAL, EXTERNAL)):
        driver.write(MEM_ATTR + 4 * index, attribute)
    driver.write(AXI_SRAM, 11 | 15 << 8 | 2 << 16)
    driver.write(AXI_EXT, 63 | 31 << 8 | 2 << 16)
    driver.write(POWER_CTRL, 0)
    return driver


@pytest.mark.parametrize(
    ("accelerator", "config"),
    [  # log2 of MACs, version 1, log2 of SRAM and external ports, log2 of decoders, product 2
        ("ethos-u85-128", 0x2000_0117),
        ("ethos-u85-256", 0x2000_0118),
        ("ethos-u85-512", 0x2000_1119),
        ("ethos-u85-1024", 0x2000_251A),
        ("ethos-u85-2048", 0x2000_261B),
    ],
)
def test_reset_values(accelerator: str, config: int) -> None:
    driver = Driver(accelerator)
    assert driver.read(reg.ID) == 0x2000_7001
    assert driver.read(reg.CONFIG) == config
    assert (driver.read(reg.STATUS), driver.read(reg.CMD)) == (8, 0xC)
    assert driver.read(PMCR) == 8 << 11, "eight event counters"
    assert driver.read(0x180) == 0, "where U55 has its PMU there is nothing"


def test_an_inference(driver: Driver) -> None:
    driver.bench.put(0, [1, -2, 3, -4])
    driver.submit(copy())
    driver.file.poll()
    assert driver.interrupts == 1 and driver.handle_interrupt()
    assert driver.read(reg.QREAD) == driver.read(reg.QSIZE)
    assert driver.bench.get(0x100, (4,)).tolist() == [1, -2, 3, -4]
    assert driver.read(AXI_SRAM) == 11 | 15 << 8 | 2 << 16
    assert driver.read(MEM_ATTR + 8) == EXTERNAL


@pytest.mark.parametrize(("high", "works"), [(0x12, False), (0xFF00, True)])
def test_addresses_have_40_bits(driver: Driver, high: int, works: bool) -> None:
    driver.write(reg.BASEP0 + 12, high)
    driver.write(reg.QBASE_HI, high & 0xFF00)
    driver.submit(copy())
    driver.file.poll()
    assert driver.handle_interrupt() == works


@pytest.mark.parametrize(
    ("program", "channel"),
    [
        (copy(DMA0_SRC=FAR), Channel.DMA_READ),
        (copy(DMA0_DST=FAR), Channel.DMA_WRITE),
    ],
)
@pytest.mark.parametrize("attribute", range(4))
def test_a_bus_fault_tells_channel_and_memory(
    driver: Driver, program: Program, channel: Channel, attribute: int
) -> None:
    driver.write(MEM_ATTR, EXTERNAL)  # the drivers' order of attributes is their choice
    driver.write(MEM_ATTR + 8, 0)
    driver.write(reg.REGIONCFG, attribute << 2)
    driver.submit(program)
    driver.file.poll()
    status = driver.read(reg.STATUS)
    assert status & 0x7FF == reg.STATUS_BUS_STATUS | reg.STATUS_IRQ_RAISED
    assert status >> 12 & 0xF == channel
    assert status >> 11 & 1 == (1, 0, 0, 1)[attribute]


def test_a_fault_of_the_queue_is_at_the_port_of_its_attribute(driver: Driver) -> None:
    driver.submit(copy())
    driver.write(reg.QBASE, 0x7000_0000)
    driver.write(reg.QCONFIG, 2)
    driver.file.poll()
    assert driver.read(reg.STATUS) == reg.STATUS_BUS_STATUS | reg.STATUS_IRQ_RAISED | 1 << 11


def test_weights_that_cannot_be_decoded_are_a_parse_error() -> None:
    # STATUS has no fault of a weight decoder: its bit 7 is reserved.
    bits = register_map(find_accelerator("ethos-u85-256")).fault_bits
    assert bits["weights"] == reg.STATUS_CMD_PARSE_ERROR


def test_an_invalid_stream_is_a_parse_error(driver: Driver) -> None:
    indexed_twice = sets(DMA0_SRC_REGION=1, DMA0_DST_REGION=1)
    for _, fields in indexed_twice:
        fields["idx_mode"] = 1
    driver.submit([*indexed_twice, ("NPU_OP_DMA_START", {})])
    driver.file.poll()
    assert driver.file.last_fault is not None and driver.file.last_fault.kind == "parse"
    assert driver.read(reg.STATUS) == reg.STATUS_CMD_PARSE_ERROR | reg.STATUS_IRQ_RAISED
    assert not driver.handle_interrupt()


def test_nothing_starts_between_a_bus_fault_and_a_reset(driver: Driver) -> None:
    driver.submit(copy(DMA0_DST=FAR))
    driver.file.poll()
    driver.submit(copy())
    driver.file.poll()
    assert driver.interrupts == 1
    assert driver.reset()
    driver.submit(copy())
    driver.file.poll()
    assert driver.interrupts == 2 and driver.handle_interrupt()


def test_beats_are_counted_at_the_memory_of_the_region(driver: Driver) -> None:
    # 64 bytes, 16 a beat. The others' events of the MAC unit are not U85's.
    chosen = (
        PmuEvent.AXI0_RD_DATA_BEAT_RECEIVED,  # SRAM_RD_DATA_BEAT_RECEIVED
        PmuEvent.AXI1_WR_DATA_BEAT_WRITTEN,  # EXT_WR_DATA_BEAT_WRITTEN
        PmuEvent.AXI0_RD_DATA_BEAT_RECEIVED | 1 << 12,  # without the first port
        PmuEvent.MAC_ACTIVE_8BIT,
        *(0, 0, 0),
        PmuEvent.AXI0_WR_DATA_BEAT_WRITTEN,  # the last of eight
    )
    for index, event in enumerate(chosen):
        driver.write(PMEVTYPER + 4 * index, event)
    driver.write(PMCR, pmu.PMCR_CNT_EN)
    driver.write(PMCNTENSET, 0xFF)
    counts = []
    for regions in (0, 2 << 2):
        driver.write(reg.REGIONCFG, regions)
        driver.submit(copy())
        driver.file.poll()
        assert driver.handle_interrupt()
        counts.append([driver.read(PMEVCNTR + 4 * index) for index in range(8)])
    assert counts == [[4, 0, 0, 0, 0, 0, 0, 4], [4, 4, 0, 0, 0, 0, 0, 4]]
    assert driver.read(PMCR) == 8 << 11 | 1
    assert driver.read(reg.QBASE) == STREAM


def test_the_ports_of_regions_decide_the_cycles(driver: Driver) -> None:
    """Region 1 is in SRAM by attributes 0 and 1, in DRAM by 2 and 3."""
    figures = []
    for attribute in range(4):
        driver.write(reg.REGIONCFG, attribute << 2)
        driver.submit(copy())
        driver.file.poll()
        assert driver.handle_interrupt() and driver.file.last_report is not None
        figures.append(driver.file.last_report.cycles)
    near, far = round(64 / 20.48) + 32, round(64 / (128 * 13 / 500 * 0.8)) + 500
    assert figures == [near, near, far, far]
