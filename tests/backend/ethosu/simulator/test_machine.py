"""Whole streams: order, reports and faults."""

import time
import warnings

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.memory import Bus, Segment
from ethosgen.values.errors import NpuFault
from tests.support.assembling import assemble
from tests.support.npu_bench import (
    CONSTANTS,
    SCRATCH,
    SCRATCH_BYTES,
    STOP,
    STREAM,
    Bench,
    Program,
    ifm,
    kernel,
    ofm,
    sets,
)

AVERAGE: Program = [("NPU_OP_POOL", {"pooling_mode": 1})]


def copy(source: int, target: int, depth: int = 4) -> Program:
    return [
        *ifm(source, (1, 1, depth)),
        *ofm(target, (1, 1, depth)),
        *kernel(1, 1),
        *AVERAGE,
    ]


def test_operations_run_in_order() -> None:
    bench = Bench()
    bench.put(0, [1, 2, 3, 4])
    waits: Program = [("NPU_OP_KERNEL_WAIT", {"n": 1}), ("NPU_OP_DMA_WAIT", {"k": 0})]
    report = bench.run(copy(0, 0x100), waits, copy(0x100, 0x200), [("NPU_OP_IRQ", {"mask": 4})])
    assert bench.get(0x200, (4,)).tolist() == [1, 2, 3, 4]
    assert report.operations == 2
    assert report.irq_mask == 0xFFFF
    assert report.cycles > 0


def test_what_follows_stop_is_not_run() -> None:
    bench = Bench()
    bench.put(0, [1])
    stream = assemble([*copy(0, 0x100, 1), *STOP]) + b"\xff" * 8
    report = bench.run_bytes(stream)
    assert report.consumed == len(stream) - 8
    assert report.commands == len([*copy(0, 0x100, 1), *STOP])


def test_registers_are_fresh_in_each_run() -> None:
    # Without registers of its own a run writes to region 0, not where the run before it wrote.
    bench = Bench()
    bench.run(copy(0, 0x100))
    with pytest.raises(NpuFault, match="write to read-only memory 'constants'"):
        bench.run(kernel(1, 1), AVERAGE)


def test_a_stream_without_stop_is_a_parse_fault() -> None:
    bench = Bench()
    bench.put(0, [1, 2, 3, 4])
    with pytest.raises(NpuFault, match="ends without NPU_OP_STOP") as caught:
        bench.run_bytes(assemble(copy(0, 0x100)))
    assert caught.value.kind == "parse"
    assert bench.get(0x100, (4,)).tolist() == [1, 2, 3, 4]  # what came before was done


def test_a_fault_tells_offset_and_command() -> None:
    program = [*copy(0, 0x100), *copy(0, SCRATCH_BYTES - 3)]
    with pytest.raises(NpuFault) as caught:
        Bench().run(program)
    fault = caught.value
    assert (fault.kind, fault.command) == ("bus", "NPU_OP_POOL")
    assert fault.offset == len(assemble(program)) - 4
    assert str(fault) == (
        f"NPU fault at stream offset 0x{fault.offset:x} (NPU_OP_POOL): "
        "write outside the memories at 0x3000fffd..0x30010001, "
        "next to 'scratch' at 0x30000000..0x30010000"
    )


@pytest.mark.parametrize(
    ("program", "kind", "reason"),
    [
        (sets(IFM_REGION=0, OFM_REGION=0), "bus", "write to read-only memory 'constants'"),
        (sets(OFM_REGION=7), "bus", "region 7 has no base pointer"),
        (sets(IFM_BASE0=1 << 39), "bus", "read outside"),
        (sets(OFM_HEIGHT_M1=65535, OFM_WIDTH_M1=65535), "timeout", "too large for the model"),
        (sets(IFM_PAD_TOP=9), "parse", "kernel and padding leave an IFM of"),
        ([("NPU_SET_IFM_PRECISION", {"activation_precision": 3})], "parse", "64-bit elements"),
        (
            [("NPU_SET_OFM_PRECISION", {"activation_format": 1}), *sets(OFM_BASE0=8)],
            "parse",
            "a feature map at 0x30000008 is not aligned to 16 bytes",
        ),
        (
            [("NPU_SET_OFM_PRECISION", {"activation_precision": 1}), *sets(OFM_BASE0=1)],
            "parse",
            "not aligned to 2 bytes",
        ),
        ([("NPU_SET_OFM_PRECISION", {"round_mode": 3})], "parse", "undefined value 3"),
        ([("NPU_SET_ACTIVATION", {"activation_function": 9})], "parse", "undefined value 9"),
    ],
)
def test_bad_state_is_a_fault(program: Program, kind: str, reason: str) -> None:
    bench = Bench()
    before = bench.constants.copy()
    with pytest.raises(NpuFault, match=reason) as caught:
        bench.run(copy(0, 0x100)[:-1], program, AVERAGE)
    assert caught.value.kind == kind
    assert np.array_equal(bench.constants, before)


def test_a_shape_of_stride_zero_is_bounded() -> None:
    # 2**48 elements that all lie on one byte pass every range check.
    bench = Bench()
    huge = sets(OFM_HEIGHT_M1=65535, OFM_WIDTH_M1=65535, OFM_STRIDE_Y=0, OFM_STRIDE_X=0)
    start = time.monotonic()
    with pytest.raises(NpuFault, match="too large for the model"):
        bench.run(copy(0, 0x100)[:-1], huge, AVERAGE)
    assert time.monotonic() - start < 60  # its 2**48 elements would take days


def test_tiles_are_put_together() -> None:
    # A 3x4 image whose four tiles lie apart: rows 0-1 / 2 on the left, rows 0 / 1-2 on the right.
    bench = Bench()
    image = np.arange(12).reshape(3, 4)
    bench.put(0x000, image[:2, :3])
    bench.put(0x040, image[:1, 3:])
    bench.put(0x080, image[2:, :3])
    bench.put(0x0C0, image[1:, 3:])
    tiles = sets(
        IFM_BASE1=0x40, IFM_BASE2=0x80, IFM_BASE3=0xC0,
        IFM_WIDTH0_M1=2, IFM_HEIGHT0_M1=1, IFM_HEIGHT1_M1=0, IFM_STRIDE_Y=3,
    )  # fmt: skip
    right = sets(IFM_STRIDE_Y=3)
    bench.put(0xC0 + 3, image[2:, 3:])  # the right tiles use the same stride
    bench.run(ifm(0, (3, 4, 1)), tiles, right, ofm(0x100, (3, 4, 1)), kernel(1, 1), AVERAGE)
    assert np.array_equal(bench.get(0x100, (3, 4)), image)


def test_negative_strides_write_backwards() -> None:
    bench = Bench()
    bench.put(0, [1, 2, 3])
    bench.run(
        ifm(0, (1, 3, 1)),
        ofm(0x102, (1, 3, 1)),
        sets(OFM_STRIDE_X=-1),
        kernel(1, 1),
        AVERAGE,
    )
    assert bench.get(0x100, (3,)).tolist() == [3, 2, 1]


def _base_stream() -> bytes:
    from tests.backend.ethosu.simulator.test_conv import CONV, ONE, depth_first
    from tests.support.npu_bench import ifm2, record, scale, weights

    program, _ = weights(depth_first([[2, 3], [-1, -1]]), record(5, *ONE) + record(0, *ONE))
    elementwise: Program = [
        *ifm2(0x200, (1, 1, 4)),
        ("NPU_SET_IFM2_BROADCAST", {}),
        *scale("OPA", 1, 0),
        *sets(OPB_SCALE=1),
        ("NPU_OP_ELEMENTWISE", {"elementwise_mode": 1}),
    ]
    conv = [*ifm(0, (2, 2, 2)), *ofm(0x300, (2, 2, 2)), *kernel(1, 1), *program, *CONV]
    dma: Program = [
        ("NPU_SET_DMA0_SRC_REGION", {"region": 0}),
        ("NPU_SET_DMA0_DST_REGION", {"region": 1}),
        *sets(DMA0_SRC=0, DMA0_DST=0x600, DMA0_LEN=64),
        ("NPU_OP_DMA_START", {}),
    ]
    return assemble([*conv, *copy(0x300, 0x400), *elementwise, *dma, *STOP])


@pytest.mark.parametrize("batch", range(10))
def test_mutated_streams_stop_or_fault(batch: int) -> None:
    from tests.backend.ethosu.simulator.test_conv import ONE, depth_first
    from tests.support.npu_bench import record, weights

    _, constants = weights(depth_first([[2, 3], [-1, -1]]), record(5, *ONE) + record(0, *ONE))
    stream = _base_stream()
    Bench(constants=constants).run_bytes(stream)
    random = np.random.default_rng(batch)
    for _ in range(40):
        bench = Bench(("ethos-u55-128", "ethos-u65-512")[batch % 2], constants)
        words = np.frombuffer(stream, "<u4").copy()
        match random.integers(4):
            case 0:
                words[random.integers(words.size)] ^= 1 << int(random.integers(32))
            case 1:
                words[random.integers(words.size)] = random.integers(1 << 32)
            case 2:
                words = words[: random.integers(words.size)]
            case _:
                words = random.permutation(words)
        guard = bench.constants.copy()
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                bench.run_bytes(words.tobytes())
            except NpuFault as fault:
                assert fault.kind in ("bus", "parse", "weights", "timeout")
                assert 0 <= fault.offset <= len(stream)
        assert time.monotonic() - start < 60
        assert np.array_equal(bench.constants, guard)


def test_the_stream_itself_may_lie_outside() -> None:
    with pytest.raises(NpuFault, match="read outside the memories"):
        Bench().machine.run(STREAM - 4, 16, [])


def test_commands_are_looked_at_again_in_each_run() -> None:
    # What a run has prepared serves the next one, as long as nobody writes other commands there.
    bench = Bench()
    length = len(assemble([*copy(0, 0x100), *STOP]))
    for target in (0x100, 0x100, 0x200, 0x100):
        bench.put(0, [target >> 8, 2, 3, 4])
        bench.put(0x100, [0] * 0x200)
        report = bench.run(copy(0, target))
        assert bench.get(target, (4,)).tolist() == [target >> 8, 2, 3, 4]
        assert (report.operations, report.consumed) == (1, length)


def test_memory_that_is_promised_to_be_constant_is_decoded_once() -> None:
    segments = [
        Segment(0x1000, np.zeros(64, np.uint8), False, "rom", constant=True),
        Segment(0x2000, np.zeros(64, np.uint8), False, "flash"),
    ]
    bus = Bus(segments)
    assert bus.is_constant(0x1000, 64) and not bus.is_constant(0x2000, 64)
    with pytest.raises(NpuFault, match="outside"):
        bus.is_constant(0x1000, 65)


@pytest.mark.parametrize("kind", [list, tuple])
def test_base_pointers_are_those_of_the_run(kind: type) -> None:
    bench = Bench()
    stream = assemble([*copy(0, 0x100), *STOP])
    bench.stream[: len(stream)] = np.frombuffer(stream, np.uint8)
    bench.put(0, [1, 2, 3, 4])
    bench.put(0x40, [5, 6, 7, 8])
    bases = kind([CONSTANTS, SCRATCH])
    bench.machine.run(STREAM, len(stream), bases)
    bench.machine.run(STREAM, len(stream), bases)
    if isinstance(bases, list):
        bases[1] += 0x40
    else:
        bases = (CONSTANTS, SCRATCH + 0x40)
    bench.machine.run(STREAM, len(stream), bases)
    assert bench.get(0x100, (4,)).tolist() == [1, 2, 3, 4]
    assert bench.get(0x140, (4,)).tolist() == [5, 6, 7, 8]
