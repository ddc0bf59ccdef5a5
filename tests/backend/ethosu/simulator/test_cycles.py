"""The estimate of cycles: by hand, and against Vela's own."""

import pytest

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.machine import load
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.frontend.tflite.reader import parse_network
from tests.backend.ethosu.simulator.test_npu_networks import block
from tests.support.assembling import assemble
from tests.support.networks import NetworkBuilder
from tests.support.npu_bench import STOP, Program, ifm, kernel, ofm, sets
from tests.support.npu_networks import Simulation

U55_128 = find_accelerator("ethos-u55-128")
COPY: Program = [
    ("NPU_SET_DMA0_SRC_REGION", {"region": 0}),
    ("NPU_SET_DMA0_DST_REGION", {"region": 1}),
    *sets(DMA0_LEN=1000),
    ("NPU_OP_DMA_START", {}),
]
POOL: Program = [
    *ifm(0, (8, 8, 16)),
    *ofm(0x400, (8, 8, 16)),
    *kernel(1, 1),
    *sets(OFM_BLK_HEIGHT_M1=7, OFM_BLK_WIDTH_M1=7, OFM_BLK_DEPTH_M1=15),
    ("NPU_OP_POOL", {"pooling_mode": 1}),
]


def cycles(*parts: Program) -> int:
    stream = assemble([line for part in (*parts, STOP) for line in part])
    return load(stream, U55_128).activity.cycles


def test_a_pool_by_hand() -> None:
    # One block of 8 x 4 x 2 = 64 micro-blocks of 1x2x8; four cycles each, times 8 bits / 2 = 1024.
    # The output unit takes 0.5 cycles for each of 1024 elements: 512. Both once, for one block,
    # then the block's way in and out: 32 + 1024 / 8 each.
    assert cycles(POOL) == 1024 + 512 + 2 * (32 + 128)


def test_a_copy_from_flash_by_hand() -> None:
    assert cycles(COPY) == 1000 + 64  # a byte a cycle


def test_a_copy_runs_beside_an_operation_unless_it_is_waited_for() -> None:
    wait_dma: Program = [("NPU_OP_DMA_WAIT", {"k": 0})]
    wait_kernel: Program = [("NPU_OP_KERNEL_WAIT", {"n": 0})]
    copy_alone, other = cycles(COPY), cycles(POOL)
    assert cycles(COPY, POOL) == max(copy_alone, other)
    assert cycles(COPY, wait_dma, POOL) == copy_alone + other
    assert cycles(POOL, wait_kernel, COPY) == copy_alone + other


@pytest.mark.parametrize("npu", ["ethos-u55-32", "ethos-u55-128", "ethos-u65-512"])
def test_the_estimate_is_near_velas(npu: str) -> None:
    net = NetworkBuilder("block", seed=5)
    network = parse_network(net.build(block(net, "int8")), "block")
    plan = offload(network, find_accelerator(npu))
    ours = load(stream_of(Simulation(plan).partition).commands, plan.accelerator).activity.cycles
    assert ours == pytest.approx(plan.npu_cycles, rel=0.15)
