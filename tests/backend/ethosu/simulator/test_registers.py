"""The register face, driven as Arm's core driver drives it (ethosu_device_u55_u65.c)."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.simulator import pmu
from ethosgen.backend.ethosu.simulator import registers as reg
from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.backend.ethosu.simulator.operation import Channel
from ethosgen.backend.ethosu.simulator.registers import RegisterFile
from tests.support.assembling import assemble
from tests.support.npu_bench import (
    CONSTANTS,
    SCRATCH,
    STOP,
    STREAM,
    Bench,
    Program,
    encode_weights,
    ifm,
    kernel,
    ofm,
    record,
    sets,
    weights,
)

COPY: Program = [
    *ifm(0, (1, 1, 4)),
    *ofm(0x100, (1, 1, 4)),
    *kernel(1, 1),
    ("NPU_OP_POOL", {"pooling_mode": 1}),
]
SECURE, NON_SECURE = 0, 1
USER, PRIVILEGED = 0, 1


class Driver:
    """The sequences of Arm's driver; each wait for the NPU is one poll of the model."""

    def __init__(self, accelerator: str = "ethos-u55-128") -> None:
        self.bench = Bench(accelerator)
        self.page = np.zeros(self.bench.machine.accelerator.register_bytes // 4, np.uint32)
        self.interrupts = 0
        self.file = RegisterFile(self.page, self.bench.machine, self._interrupt)
        self.file.power_on()

    def _interrupt(self) -> None:
        self.interrupts += 1

    def read(self, offset: int) -> int:
        return int(self.page[offset // 4])

    def write(self, offset: int, value: int) -> None:
        self.page[offset // 4] = value

    def reset(self, level: int = PRIVILEGED | NON_SECURE << 1) -> bool:
        self.write(reg.RESET, level)
        self.file.poll()
        return self.read(reg.STATUS) & reg.STATUS_RESET_STATUS == 0 and self.read(reg.PROT) == level

    def submit(self, program: Program) -> None:
        commands = instruction_set(self.bench.machine.accelerator.config_word)
        stream = assemble([*program, *STOP], commands)
        self.bench.stream[: len(stream)] = np.frombuffer(stream, np.uint8)
        self.write(reg.QBASE, STREAM)
        self.write(reg.QSIZE, len(stream))
        self.write(reg.QCONFIG, 2)
        self.write(reg.BASEP0, CONSTANTS)
        self.write(reg.BASEP0 + 8, SCRATCH)
        self.write(reg.CMD, self.read(reg.CMD) & 0xC | 1)

    def handle_interrupt(self) -> bool:
        self.write(reg.CMD, self.read(reg.CMD) & 0xC | 2)
        status = self.read(reg.STATUS)
        faults = reg.STATUS_BUS_STATUS | reg.STATUS_CMD_PARSE_ERROR | reg.STATUS_WD_FAULT | 1 << 8
        return status & faults == 0 and bool(status & reg.STATUS_CMD_END_REACHED)


@pytest.mark.parametrize(
    ("accelerator", "ident", "config"),
    [
        ("ethos-u55-32", 0x10104201, 0x0000_1005),
        ("ethos-u55-128", 0x10104201, 0x0000_1807),
        ("ethos-u55-256", 0x10104201, 0x0000_3008),
        ("ethos-u65-256", 0x10066001, 0x1000_3008),
        ("ethos-u65-512", 0x10066001, 0x1000_6009),
    ],
)
def test_reset_values(accelerator: str, ident: int, config: int) -> None:
    driver = Driver(accelerator)
    assert driver.read(reg.ID) == ident
    assert driver.read(reg.CONFIG) == config
    assert driver.read(reg.STATUS) == 8
    assert driver.read(reg.CMD) == 0xC
    assert driver.read(reg.PROT) == 0
    assert driver.read(pmu.PMCR) == 0x2000


def test_nothing_happens_unasked() -> None:
    driver = Driver()
    before = driver.page.copy()
    assert not driver.file.poll()
    assert np.array_equal(driver.page, before)


@pytest.mark.parametrize("level", range(4))
def test_a_reset_takes_the_access_level_over(level: int) -> None:
    driver = Driver()
    assert driver.reset(level)
    assert driver.read(reg.RESET) == reg.RESET_IDLE
    assert not driver.file.poll()


def test_an_inference() -> None:
    driver = Driver()
    assert driver.reset()
    driver.bench.put(0, [1, -2, 3, -4])
    driver.submit(COPY)
    assert driver.file.poll()
    assert driver.interrupts == 1
    status = driver.read(reg.STATUS)
    assert status & 0xFFFF == reg.STATUS_IRQ_RAISED | reg.STATUS_CMD_END_REACHED
    assert status >> 16 == 0xFFFF  # the mask of NPU_OP_STOP
    assert driver.read(reg.QREAD) == driver.read(reg.QSIZE)
    assert driver.read(reg.CMD) == 0xC
    assert driver.bench.get(0x100, (4,)).tolist() == [1, -2, 3, -4]
    assert driver.file.last_fault is None
    assert driver.file.last_report is not None and driver.file.last_report.operations == 1
    assert driver.handle_interrupt()
    assert driver.file.poll()
    assert driver.read(reg.STATUS) & reg.STATUS_IRQ_RAISED == 0
    assert driver.read(reg.STATUS) & reg.STATUS_CMD_END_REACHED


def test_power_bits_are_kept() -> None:
    driver = Driver()
    driver.reset()
    driver.write(reg.CMD, 0)  # ethosu_dev_set_clock_and_power, both disabled
    assert not driver.file.poll()
    driver.submit(COPY)
    driver.file.poll()
    assert driver.read(reg.CMD) == 0


def test_a_reset_that_is_seen_late_does_not_wipe_the_next_job() -> None:
    # After the first, STATUS tells the driver at once that the reset is over, so it goes on.
    driver = Driver()
    driver.reset()
    driver.write(reg.RESET, PRIVILEGED | NON_SECURE << 1)
    driver.bench.put(0, [5, 6, 7, 8])
    driver.submit(COPY)
    assert driver.file.poll()
    assert driver.bench.get(0x100, (4,)).tolist() == [5, 6, 7, 8]
    assert driver.handle_interrupt()


def _bus_fault() -> Program:
    return [*COPY[:-1], *sets(OFM_BASE0=1 << 20), COPY[-1]]


def _parse_fault() -> Program:
    return [*COPY[:-1], ("NPU_OP_POOL", {"pooling_mode": 5})]


@pytest.mark.parametrize(
    ("program", "bit", "kind"),
    [
        (_bus_fault, reg.STATUS_BUS_STATUS, "bus"),
        (_parse_fault, reg.STATUS_CMD_PARSE_ERROR, "parse"),
    ],
)
def test_a_fault_is_told_by_status(program: Callable[[], Program], bit: int, kind: str) -> None:
    driver = Driver()
    driver.reset()
    driver.submit(program())
    assert driver.file.poll()
    assert driver.interrupts == 1
    assert driver.read(reg.STATUS) & 0xFFF == bit | reg.STATUS_IRQ_RAISED
    fault = driver.file.last_fault
    assert fault is not None and (fault.kind, fault.command) == (kind, "NPU_OP_POOL")
    assert driver.read(reg.QREAD) == fault.offset
    assert not driver.handle_interrupt()
    # The driver resets, and the next job runs.
    assert driver.reset()
    driver.bench.put(0, [9, 9, 9, 9])
    driver.submit(COPY)
    driver.file.poll()
    assert driver.handle_interrupt()
    assert driver.file.last_fault is None


def test_a_queue_outside_memory_is_a_bus_fault() -> None:
    driver = Driver()
    driver.reset()
    driver.submit(COPY)
    driver.write(reg.QBASE, 0x7000_0000)
    driver.file.poll()
    assert driver.read(reg.STATUS) & reg.STATUS_BUS_STATUS


@pytest.mark.parametrize(
    ("accelerator", "works"), [("ethos-u55-128", True), ("ethos-u65-256", False)]
)
def test_u55_ignores_high_address_words(accelerator: str, works: bool) -> None:
    driver = Driver(accelerator)
    driver.reset()
    driver.write(reg.BASEP0 + 12, 0x12)
    driver.submit(COPY)
    driver.file.poll()
    assert driver.handle_interrupt() == works


def test_a_page_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="1,024 words"):
        RegisterFile(np.zeros(10, np.uint32), Bench().machine, lambda: None)


def test_an_undecodable_weight_stream_is_the_weight_decoders_fault() -> None:
    driver = Driver()
    driver.reset()
    bad = sets(WEIGHT_BASE=0, WEIGHT_LENGTH=16, SCALE_BASE=16, SCALE_LENGTH=16)
    driver.submit([*COPY[:-1], *bad, ("NPU_OP_CONV", {})])
    driver.file.poll()
    assert driver.read(reg.STATUS) == reg.STATUS_WD_FAULT | reg.STATUS_IRQ_RAISED
    assert driver.file.last_fault is not None and driver.file.last_fault.kind == "weights"


SETS_WEIGHTS, CONSTANTS_OF = weights(encode_weights([0] * 256), record(0, 1, 0) * 4)
CONVOLUTION: Program = [*COPY[:-1], *SETS_WEIGHTS]
DMA: Program = sets(DMA0_SRC_REGION=0, DMA0_DST_REGION=1, DMA0_LEN=16)
FAR = 1 << 20


@pytest.mark.parametrize(
    ("program", "channel"),
    [
        ([*COPY[:-1], *sets(OFM_BASE0=FAR), COPY[-1]], Channel.OFM),
        ([*COPY[:-1], *sets(IFM_BASE0=FAR), COPY[-1]], Channel.IFM),
        ([*CONVOLUTION, *sets(WEIGHT_BASE=FAR), ("NPU_OP_CONV", {})], Channel.WEIGHTS),
        ([*CONVOLUTION, *sets(SCALE_BASE=FAR), ("NPU_OP_CONV", {})], Channel.SCALES),
        ([*DMA, *sets(DMA0_SRC=FAR), ("NPU_OP_DMA_START", {})], Channel.DMA_READ),
        ([*DMA, *sets(DMA0_DST=FAR), ("NPU_OP_DMA_START", {})], Channel.DMA_WRITE),
    ],
)
@pytest.mark.parametrize("ports", [0b0000, 0b1010])
def test_a_bus_fault_tells_its_channel_and_interface(
    program: Program, channel: Channel, ports: int
) -> None:
    # status_r of Arm's ethosu55_interface.h: faulting_interface is bit 11, the channel 12 to 15.
    driver = Driver()
    driver.reset()
    driver.bench.constants[: len(CONSTANTS_OF)] = np.frombuffer(CONSTANTS_OF, np.uint8)
    driver.write(reg.REGIONCFG, ports)
    driver.submit(program)
    driver.file.poll()
    status = driver.read(reg.STATUS)
    assert status & 0xFF == reg.STATUS_BUS_STATUS | reg.STATUS_IRQ_RAISED, driver.file.last_fault
    assert status >> 12 & 0xF == channel
    assert status >> 11 & 1 == (ports != 0)
    assert driver.reset()  # as drivers do, before the firmware reports the failure
    region = 0 if channel in (Channel.WEIGHTS, Channel.SCALES, Channel.DMA_READ) else 1
    said = rf"{channel.title} in region {region}: (read|write) outside the memories"
    assert driver.file.last_fault is not None
    assert re.search(said, str(driver.file.last_fault))


@pytest.mark.parametrize(
    ("source_mode", "target_mode", "channel"), [(1, 0, Channel.DMA_READ), (0, 1, Channel.DMA_WRITE)]
)
def test_a_copy_of_rows_faults_where_a_later_row_does(
    source_mode: int, target_mode: int, channel: Channel
) -> None:
    driver = Driver("ethos-u65-256")
    driver.reset()
    strided: Program = [
        ("NPU_SET_DMA0_SRC_REGION", {"region": 1, "stride_mode": source_mode}),
        ("NPU_SET_DMA0_DST_REGION", {"region": 1, "stride_mode": target_mode}),
        *sets(DMA0_LEN=16, DMA0_SIZE0=2, DMA0_SKIP0=FAR),
        ("NPU_OP_DMA_START", {}),
    ]
    driver.submit(strided)
    driver.file.poll()
    status = driver.read(reg.STATUS)
    assert status & reg.STATUS_BUS_STATUS, driver.file.last_fault
    assert status >> 12 & 0xF == channel


def test_a_bus_fault_behind_commands_that_overwrote_themselves() -> None:
    # The first operation copies 0 over the whole stream; the second is no command any more.
    driver = Driver()
    driver.bench.machine.bus = Bus(
        [Segment(STREAM, driver.bench.stream), Segment(SCRATCH, driver.bench.scratch)]
    )
    driver.reset()
    driver.write(reg.BASEP0 + 16, STREAM)
    wipe: Program = sets(DMA0_SRC_REGION=1, DMA0_SRC=0, DMA0_DST_REGION=2, DMA0_LEN=4096)
    far: Program = sets(DMA0_DST=FAR)
    start: Program = [("NPU_OP_DMA_START", {})]
    driver.submit([*wipe, *start, *far, *start])
    driver.file.poll()
    assert driver.read(reg.STATUS) == reg.STATUS_BUS_STATUS | reg.STATUS_IRQ_RAISED


def test_a_queue_outside_memory_faults_on_the_command_channel() -> None:
    driver = Driver()
    driver.reset()
    driver.submit(COPY)
    driver.write(reg.QBASE, 0x7000_0000)
    driver.file.poll()  # QCONFIG is 2: the first set of limits of AXI1
    assert driver.read(reg.STATUS) == reg.STATUS_BUS_STATUS | reg.STATUS_IRQ_RAISED | 1 << 11


def test_nothing_starts_between_a_bus_fault_and_a_reset() -> None:
    driver = Driver()
    driver.reset()
    driver.submit(_bus_fault())
    driver.file.poll()
    driver.bench.put(0, [5, 6, 7, 8])
    driver.submit(COPY)
    driver.file.poll()
    assert driver.interrupts == 1
    assert driver.bench.get(0x100, (4,)).tolist() == [0, 0, 0, 0]
    driver.reset()
    driver.submit(COPY)
    driver.file.poll()
    assert driver.interrupts == 2 and driver.handle_interrupt()


def test_a_parse_error_stays_until_a_reset() -> None:
    driver = Driver()
    driver.reset()
    driver.submit(_parse_fault())
    driver.file.poll()
    driver.submit(COPY)
    driver.file.poll()
    assert driver.read(reg.STATUS) & reg.STATUS_CMD_PARSE_ERROR
    assert not driver.handle_interrupt()
    assert driver.reset() and driver.read(reg.STATUS) == 0


def test_another_queue_clears_the_end_of_the_last() -> None:
    driver = Driver()
    driver.reset()
    driver.submit(COPY)
    driver.file.poll()
    assert driver.handle_interrupt()
    driver.write(reg.QSIZE, 8)
    driver.file.poll()
    assert driver.read(reg.STATUS) & reg.STATUS_CMD_END_REACHED == 0


def test_stray_writes_to_what_is_read_only_do_not_last() -> None:
    driver = Driver()
    driver.reset()
    for register in (reg.ID, reg.CONFIG, reg.STATUS, reg.PROT, reg.QREAD):
        driver.write(register, 0x5555)
    driver.submit(COPY)
    driver.file.poll()
    assert driver.read(reg.ID) == 0x10104201
    assert driver.read(reg.CONFIG) == 0x1807
    assert driver.read(reg.PROT) == PRIVILEGED | NON_SECURE << 1
    assert driver.read(reg.QREAD) == driver.read(reg.QSIZE)
    assert driver.handle_interrupt()


def test_axi_limits_are_kept_and_change_no_result() -> None:
    # ethosu_dev_axi_init writes them behind each reset; a reset of the model leaves what it finds.
    driver = Driver()
    limits = [0x40 + 4 * n for n in range(4)]
    assert [driver.read(limit) for limit in limits] == [0] * 4
    driver.reset()
    for limit in limits:
        driver.write(limit, 0x0F1F_0002)
    driver.bench.put(0, [1, 2, 3, 4])
    driver.submit(COPY)
    driver.file.poll()
    assert driver.handle_interrupt()
    assert [driver.read(limit) for limit in limits] == [0x0F1F_0002] * 4
    assert driver.bench.get(0x100, (4,)).tolist() == [1, 2, 3, 4]
