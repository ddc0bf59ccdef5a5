"""The estimate of U85's cycles: by hand, and against Vela's own."""

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa import ElementwiseMode, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import (
    U85,
    AccInput,
    ActivationFunction,
    ActivationStorage,
    ActivationTranspose,
    Microblock,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.activity import Activity
from ethosgen.backend.ethosu.simulator.assemble import assemble
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import parse_network
from tests.backend.ethosu.simulator.test_npu_networks import block
from tests.support.networks import NetworkBuilder
from tests.support.npu_bench import STOP, Program, ifm, ifm2, kernel, ofm, sets
from tests.support.npu_networks import Simulation

SHAPE = (8, 8, 16)
BLOCK = sets(OFM_BLK_HEIGHT_M1=7, OFM_BLK_WIDTH_M1=7, OFM_BLK_DEPTH_M1=15)
UNIT: Program = [("NPU_SET_ACC_FORMAT", {"microblock": Microblock.U2X2})]
POOL: Program = [
    *ifm(0, SHAPE),
    *ofm(0x400, SHAPE),
    *kernel(1, 1),
    *BLOCK,
    *UNIT,
    ("NPU_OP_POOL", {"pooling_mode": PoolingMode.AVERAGE}),
]
ADD: Program = [
    *ifm(0, SHAPE),
    *ifm2(0x400, SHAPE),
    *ofm(0x800, SHAPE),
    *BLOCK,
    ("NPU_OP_ELEMENTWISE", {"elementwise_mode": ElementwiseMode.ADD}),
]


def activity(*parts: Program) -> Activity:
    stream = assemble([line for part in (*parts, STOP) for line in part], U85)
    program = load(stream, find_accelerator("ethos-u85-256"))
    assert program.fault is None
    return program.activity


def cycles(*parts: Program) -> int:
    return activity(*parts).cycles


def copy(region: int, to_tables: bool = False, destination: int = 1) -> Program:
    return [
        ("NPU_SET_DMA0_SRC_REGION", {"region": region}),
        ("NPU_SET_DMA0_DST_REGION", {"region": destination, "region_mode": int(to_tables)}),
        *sets(DMA0_LEN=1000),
        ("NPU_OP_DMA_START", {}),
    ]


def test_a_pool_by_hand() -> None:
    # One block of 4 x 4 x 2 = 32 microblocks of 2x2x8; four cycles each, times 8 bits / 2 = 512.
    # The output unit takes 0.25 cycles for each of 1024 elements: 256. Both once, for one block,
    # then the block's way in and out. Its 16 channels are read row by row: bursts of 64 bytes, 32
    # bytes a cycle, 32 cycles late.
    found = activity(POOL)
    assert found.cycles == 512 + 256 + 2 * (32 + 1024 // 32)
    assert (found.mac_8bit, found.mac_16bit) == (512, 0)


def test_an_addition_by_hand() -> None:
    assert cycles(ADD) == 1024 // 4


def test_an_addition_that_exchanges_height_and_width_has_half_the_speed() -> None:
    turned = ofm(0x800, SHAPE, activation_transpose=ActivationTranspose.WHC)
    assert cycles(ADD[:-1], turned, ADD[-1:]) == 1024 // 2


def test_a_chain_adds_its_output_cycles_to_those_of_its_first() -> None:
    into = ofm(0, SHAPE, activation_storage=ActivationStorage.CHAINED)
    outof = [*ifm(0, SHAPE, activation_storage=ActivationStorage.CHAINED), *ofm(0x800, SHAPE)]
    chained = cycles(POOL[:-1], into, POOL[-1:], ADD[:-1], outof, ADD[-1:])
    assert chained == cycles(POOL) + 1024 // 4


def test_copies_by_hand() -> None:
    assert cycles(copy(0)) == 1000 + 64  # from flash, a byte a cycle
    assert cycles(copy(1)) == round(1000 / 20.48) + 32  # 16 bursts of 64 bytes in 32 cycles, 64 %
    dram = 128 * (104 / 8) / 500 * 0.8  # 104 reads of 16 bytes, in 500 cycles
    assert cycles(copy(0, destination=2)) == round(1000 / dram + 500)


def test_a_table_costs_only_what_does_nothing_but_look_up() -> None:
    wait: Program = [("NPU_OP_DMA_WAIT", {"k": 0})]
    look_up = ofm(0x400, SHAPE, function=ActivationFunction.LUT_S8_S8)
    maximum = [*look_up, ("NPU_OP_POOL", {"pooling_mode": PoolingMode.MAX})]
    average = [*look_up, ("NPU_OP_POOL", {"pooling_mode": PoolingMode.AVERAGE})]
    table = [*copy(0, to_tables=True), *wait]
    assert cycles(table, POOL[:-1], maximum) == cycles(POOL[:-1], maximum)
    assert cycles(table, POOL[:-1], average) == 1000 + 64 + cycles(POOL[:-1], average)


def test_a_copy_of_32_bits_takes_four_times_as_long_as_of_8() -> None:
    """The elements come from IFM2, as accumulators; the IFM's registers say 8 bits."""
    wide = [*ifm2(0, SHAPE, "int32"), *ofm(0x1000, SHAPE, "int32")]
    fields = {"microblock": Microblock.U2X2, "acc_input": AccInput.IFM2}
    kept: Program = [("NPU_SET_ACC_FORMAT", fields)]
    none: Program = [("NPU_OP_POOL", {"pooling_mode": U85PoolingMode.NONE})]
    assert activity(POOL[:-1], wide, kept, none).mac_8bit == 4 * activity(POOL).mac_8bit


def test_a_copy_runs_beside_an_operation_unless_it_is_waited_for() -> None:
    wait: Program = [("NPU_OP_DMA_WAIT", {"k": 0})]
    assert cycles(copy(0), POOL) == max(cycles(copy(0)), cycles(POOL))
    assert cycles(copy(0), wait, POOL) == cycles(copy(0)) + cycles(POOL)


def test_a_pool_needs_a_microblock_that_the_npu_has() -> None:
    unit: Program = [("NPU_SET_ACC_FORMAT", {"microblock": Microblock.U4X4})]
    stream = assemble([*POOL[:-1], *unit, *POOL[-1:], *STOP], U85)
    fault = load(stream, find_accelerator("ethos-u85-256")).fault
    assert fault is not None and "microblock U4X4, which 256 MACs do not have" in str(fault)


@pytest.mark.parametrize("macs", [128, 256, 2048])
def test_the_estimate_is_near_velas(macs: int) -> None:
    net = NetworkBuilder("block", seed=5)
    network = parse_network(net.build(block(net, "int8")), "block")
    plan = offload(network, find_accelerator(f"ethos-u85-{macs}"))
    ours = load(stream_of(Simulation(plan).partition).commands, plan.accelerator).activity.cycles
    assert ours == pytest.approx(plan.npu_cycles, rel=0.15)
