"""The estimate of U85's cycles: by hand, and against Vela's own."""

from dataclasses import replace

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa import ElementwiseMode, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import (
    U85,
    AccInput,
    ActivationStorage,
    ActivationTranspose,
    Microblock,
    U85ActivationFunction,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.memory_system import MEMORY_MODES, SYSTEM_CONFIGS
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.activity import Activity
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.stream import ports_of, stream_of
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.drawing import random_samples
from tests.backend.ethosu.simulator.test_npu_networks import block
from tests.support.assembling import assemble
from tests.support.networks import NetworkBuilder
from tests.support.npu_bench import STOP, Program, ifm, ifm2, kernel, ofm, sets

SHAPE = (8, 8, 16)
ALL_SRAM = (0,) * 8
EXTERNAL = (1,) * 8
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


def activity(*parts: Program, ports: tuple[int, ...] | None = None) -> Activity:
    stream = assemble([line for part in (*parts, STOP) for line in part], U85)
    program = load(stream, find_accelerator("ethos-u85-256"), ports)
    assert program.fault is None
    return program.activity


def cycles(*parts: Program, ports: tuple[int, ...] | None = None) -> int:
    return activity(*parts, ports=ports).cycles


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
    figures = activity(POOL)
    assert figures.cycles == 512 + 256 + 2 * (32 + 1024 // 32)
    assert (figures.mac_8bit, figures.mac_16bit) == (512, 0)


def test_an_addition_by_hand() -> None:
    assert cycles(ADD) == 1024 // 4


def test_an_addition_may_have_no_operand_in_memory() -> None:
    constants = [
        *ifm(0, SHAPE, activation_storage=ActivationStorage.NONE),
        *ifm2(0, SHAPE, activation_storage=ActivationStorage.NONE),
    ]
    assert cycles(ADD[:-1], constants, ADD[-1:]) == 1024 // 4


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


def test_copies_between_the_memories_at_given_ports() -> None:
    assert cycles(copy(0), ports=ALL_SRAM) == cycles(copy(1))
    flash_only = (1, *ALL_SRAM[1:])
    assert cycles(copy(0), ports=flash_only) == cycles(copy(0))
    dram = 128 * (104 / 8) / 500 * 0.8
    assert cycles(copy(0), ports=EXTERNAL) == round(1000 / dram + 500)
    assert cycles(copy(2), ports=EXTERNAL) == cycles(copy(0), ports=EXTERNAL)


def test_a_pool_in_dram_by_hand() -> None:
    moved = 1024 / (16 * 0.75)  # 16 bytes a cycle of 1 GHz, at three quarters of it
    assert cycles(POOL, ports=EXTERNAL) == round(512 + 256 + 500 + 250 + 2 * moved)


def test_a_result_that_is_chained_counts_as_bricks_in_the_arena() -> None:
    narrow = (8, 8, 8)
    into = ofm(0, narrow, activation_storage=ActivationStorage.CHAINED)
    outof = [*ifm(0, narrow, activation_storage=ActivationStorage.CHAINED), *ofm(0x800, narrow)]
    first: Program = [*ifm(0, narrow), *ifm2(0x400, narrow), *ADD[-1:]]
    assert cycles(BLOCK, first[:-1], into, first[-1:], outof, ADD[-1:]) == 2 * 8 * 8 * 16 // 4


def test_the_blocks_of_a_transposed_result_divide_it_as_it_is_stored() -> None:
    # 4x16x16 stored as 16x4x16 in blocks of 8x8x16: the first two sides are clipped to 8x4, so
    # a block has 16 microblocks and there are two of them; unturned, 4x8x16 has 16 as well.
    across = (4, 16, 16)
    turned = ofm(0x400, across, activation_transpose=ActivationTranspose.WHC)
    kept = ofm(0x400, across)
    shared: Program = [*ifm(0, across), *kernel(1, 1), *BLOCK, *UNIT]
    mac, out = 16 * 16, 8 * 4 * 16 // 4
    way_in = 32 + 4 * 8 * 16 // 32
    way_out = 32 + 8 * 4 * 16 // 32
    expected = mac * 2 + out + way_in + way_out
    assert cycles(shared, kept, POOL[-1:]) == expected
    # Height and width exchanged: half the rate of the output unit.
    assert cycles(shared, turned, POOL[-1:]) == mac * 2 + 2 * out + way_in + way_out


def test_the_last_table_of_a_transposed_copy_is_free() -> None:
    fields = {"activation_transpose": ActivationTranspose.HCW}
    look_up = ofm(0x400, SHAPE, function=U85ActivationFunction.LUT_S8_S8, **fields)
    program = [*POOL[:-1], *look_up, *POOL[-1:]]
    wait: Program = [("NPU_OP_DMA_WAIT", {"k": 0})]
    assert cycles(copy(0, to_tables=True), wait, program) == cycles(program)


def test_a_command_waits_while_two_operations_are_outstanding() -> None:
    """The third operation starts after the first, and a copy behind it as well."""
    pool, moved = cycles(POOL), cycles(copy(0))
    assert cycles(POOL, POOL, copy(0), copy(0)) == max(2 * pool, 2 * moved)
    assert cycles(POOL, POOL, POOL, copy(0), copy(0)) == pool + 2 * moved > 3 * pool


def depth_part(channel: int, weights: int) -> Program:
    """Return a convolution of 16 channels from `channel` on, with its weights at `weights`."""
    return [
        *ofm(0x1000 + channel, SHAPE),
        *sets(OFM_STRIDE_Y=8 * 32, OFM_STRIDE_X=32),
        *sets(WEIGHT_REGION=1, SCALE_REGION=1, WEIGHT_BASE=weights, SCALE_BASE=weights + 64),
        *sets(WEIGHT_LENGTH=64, SCALE_LENGTH=160),
        ("NPU_OP_CONV", {}),
    ]


def test_a_part_in_depth_has_no_way_in_and_out_of_its_own() -> None:
    """It costs its slower unit alone: 16 microblocks, 64 MAC steps of 16 channels."""
    shared: Program = [*ifm(0, SHAPE), *kernel(1, 1), *BLOCK, *UNIT]
    alone = cycles(shared, depth_part(0, 0x4000))
    both = cycles(shared, depth_part(0, 0x4000), depth_part(16, 0x5000))
    assert both - alone < alone - 2 * 32
    again = cycles(shared, depth_part(0, 0x4000), depth_part(0, 0x4000))
    assert again == 2 * alone, "the same weights: another operation"


def test_a_table_costs_only_what_does_nothing_but_look_up() -> None:
    wait: Program = [("NPU_OP_DMA_WAIT", {"k": 0})]
    look_up = ofm(0x400, SHAPE, function=U85ActivationFunction.LUT_S8_S8)
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
@pytest.mark.parametrize("mode", MEMORY_MODES)
def test_the_estimate_is_near_velas(macs: int, mode: str) -> None:
    net = NetworkBuilder("block", seed=5)
    network = parse_network(net.build(block(net, "int8")), "block")
    config = SYSTEM_CONFIGS["u85", mode].name
    npu = find_accelerator(f"ethos-u85-{macs}")
    plan = offload(network, npu, system_config=config, memory_mode=MEMORY_MODES[mode])
    (partition,) = plan.partitions
    program = load(stream_of(partition).commands, npu, ports_of(plan, partition))
    assert program.activity.cycles == pytest.approx(plan.npu_cycles, rel=0.1)


def test_a_simulation_counts_the_memories_of_its_plan() -> None:
    net = NetworkBuilder("block", seed=5)
    network = parse_network(net.build(block(net, "int8")), "block")
    npu = find_accelerator("ethos-u85-256")
    plan = offload(network, npu)
    stream = stream_of(plan.partitions[0]).commands
    (sample,) = random_samples(network, 1, 1)
    for mode, ports in (("sram_only", ALL_SRAM), ("dedicated_sram", (1, 1, *ALL_SRAM[2:]))):
        runner = PartitionRunner(replace(plan, memory_mode=mode))
        runner(plan.partitions[0], sample)
        (report,) = runner.reports
        assert report.cycles == load(stream, npu, ports).activity.cycles
    assert plan.memory_mode == "shared_sram" and report.cycles > load(stream, npu).activity.cycles
