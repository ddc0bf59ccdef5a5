"""Traces, dumps and listings of U85: tables, chains, indices, constants, records."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.isa import ElementwiseMode, PoolingMode
from ethosgen.backend.ethosu.isa_u85 import (
    U85,
    ActivationStorage,
    Microblock,
    U85ActivationFunction,
    U85BroadcastMode,
    U85PoolingMode,
)
from ethosgen.backend.ethosu.simulator.disassembly import disassemble
from ethosgen.backend.ethosu.simulator.trace import TraceObserver
from ethosgen.backend.trace import Entry, Trace
from tests.support.assembling import assemble
from tests.support.npu_bench import (
    STOP,
    Bench,
    Program,
    ifm,
    ifm2,
    kernel,
    ofm,
    scale,
    sets,
)

SHAPE = (1, 2, 4)
INDICES = np.array([2, 0, 0, 0], np.int32).tobytes()
RECORD = bytes([5, 0, 0, 0, 7, 0, 0, 0, 9, 0])
"""Bias, scale and shift."""
UNIT = [*scale("IFM", 1, 0), *scale("IFM2", 1, 0), *scale("OFM", 1, 0)]
BLOCK = ("NPU_SET_ACC_FORMAT", {"microblock": Microblock.U2X2})


def copy(source: int, destination: int, length: int, to_tables: bool = False) -> Program:
    fields = {"region": 1, "region_mode": int(to_tables)}
    return [
        ("NPU_SET_DMA0_SRC_REGION", {"region": 0}),
        ("NPU_SET_DMA0_DST_REGION", fields),
        *sets(DMA0_SRC=source, DMA0_DST=destination, DMA0_LEN=length),
        ("NPU_OP_DMA_START", {}),
    ]


def move(mode: PoolingMode = PoolingMode.MAX) -> Program:
    return [*kernel(1, 1), *UNIT, BLOCK, ("NPU_OP_POOL", {"pooling_mode": mode})]


def elementwise(mode: ElementwiseMode) -> Program:
    return [*UNIT, ("NPU_OP_ELEMENTWISE", {"elementwise_mode": mode})]


def indexed(end: str) -> Program:
    """Copy two rows of 4 bytes of region 0 to region 1, with indices for one end."""
    return [
        (
            "NPU_SET_DMA0_SRC_REGION",
            {"region": 0, "stride_mode": 1, "idx_mode": int(end == "SRC")},
        ),
        ("NPU_SET_DMA0_DST_REGION", {"region": 1, "idx_mode": int(end == "DST")}),
        *sets(DMA0_SRC=0, DMA0_DST=0x100, DMA0_LEN=4, DMA0_SIZE0=2),
        ("NPU_SET_DMA0_SRC_STRIDE0", {"addr": 4}),
        ("NPU_SET_DMA0_DST_STRIDE0", {"addr": 4}),
        ("NPU_SET_DMA0_IDX_REGION", {"region": 0}),
        ("NPU_SET_DMA0_IDX", {"addr": 0x40}),
        ("NPU_SET_DMA0_IDX_MAX", {"idx_max": 3}),
        ("NPU_OP_DMA_START", {}),
    ]


def run(tmp_path: Path, number: int, *parts: Program) -> tuple[Entry, dict[str, Any]]:
    """Run a program; return an operation's entry and dump. Region 0 is 0..63, INDICES, RECORD."""
    path = tmp_path / "dump.npz"
    trace = Trace({number: path})
    trace.begin_sample()
    bench = Bench("ethos-u85-256", bytes(range(64)) + INDICES + RECORD)
    bench.machine.observer = TraceObserver(trace)
    bench.run(*parts)
    with np.load(path) as arrays:
        return trace.entries[number], dict(arrays)


def listing(*parts: Program) -> str:
    stream = assemble([line for part in (*parts, STOP) for line in part], U85)
    return "\n".join(line.text for line in disassemble(stream, find_accelerator("ethos-u85-256")))


def test_a_tables_copy_and_its_use_are_counted(tmp_path: Path) -> None:
    table = copy(0, 256, 64, to_tables=True)
    look_up = ofm(0x100, SHAPE, scale_mode=1, function=U85ActivationFunction.LUT_S8_S8)
    use = [*ifm(0, SHAPE), *look_up, ("NPU_SET_ACTIVATION", {"activation_function": 4, "table": 1})]
    entry, _ = run(tmp_path, 0, table, use, move())
    assert (entry.read, entry.written) == ({"0": 64}, {"tables": 64})
    entry, arrays = run(tmp_path, 1, table, use, move())
    assert entry.read == {"1": 8, "tables": 256}
    assert arrays["table"][:64].tolist() == list(range(64))
    assert "NPU_SET_DMA0_DST             addr=tables:0x100" in listing(table)


def test_a_chain_is_counted_apart_from_memory(tmp_path: Path) -> None:
    chained = ActivationStorage.CHAINED
    begin = [*ifm(0, SHAPE), *ofm(0, SHAPE, scale_mode=1, activation_storage=chained)]
    end = [*ifm(0, SHAPE, activation_storage=chained), *ofm(0x100, SHAPE, "int16", scale_mode=1)]
    parts = (copy(0, 0, 8), begin, move())
    add = [*end, *ifm2(0, SHAPE), *elementwise(ElementwiseMode.ADD)]
    entry, _ = run(tmp_path, 1, *parts, add)
    assert (entry.read, entry.written) == ({"1": 8}, {"chain": 8})
    entry, arrays = run(tmp_path, 2, *parts, add)
    assert (entry.read, entry.written) == ({"1": 8, "chain": 8}, {"1": 16})
    assert arrays["ifm"].tolist() == arrays["ifm2"].tolist()
    assert arrays["ofm"].ravel().tolist() == [2 * i for i in range(8)]


def test_a_constant_operand_is_dumped(tmp_path: Path) -> None:
    storage = ActivationStorage.NONE
    add = [
        *ifm(0, SHAPE),
        *ofm(0x100, SHAPE),
        *ifm2(0, SHAPE, activation_storage=storage),
        ("NPU_SET_IFM2_BROADCAST", {"broadcast_mode": U85BroadcastMode.SCALAR}),
        ("NPU_SET_OP_SCALAR", {"scalar": 3}),
        *elementwise(ElementwiseMode.ADD),
    ]
    entry, arrays = run(tmp_path, 0, add)
    assert entry.read == {"1": 8}
    assert arrays["ifm2"] == 3


def test_a_gather_counts_its_rows_and_indices(tmp_path: Path) -> None:
    entry, arrays = run(tmp_path, 0, indexed("SRC"))
    assert (entry.read, entry.written) == ({"0": 8 + 8}, {"1": 8})
    assert arrays["indices"].tolist() == [[2, 0]]
    assert arrays["data"].tolist() == [[[8, 9, 10, 11], [0, 1, 2, 3]]]
    shown = listing(indexed("SRC"))
    assert "DMA 4x2 bytes 0:0x0 by index -> 1:0x100" in shown
    assert "source rows 4 apart, destination rows 4 apart, indices int32 0:0x40 of 0..3" in shown


def test_a_scatter_has_the_checksum_of_what_it_wrote(tmp_path: Path) -> None:
    entry, arrays = run(tmp_path, 0, indexed("DST"))
    assert (entry.read, entry.written) == ({"0": 8 + 8}, {"1": 8})
    assert arrays["data"].ravel().tolist() == list(range(8))
    assert entry.checksum == zlib.crc32(bytes(range(8)))


def test_a_poolings_scale_records_are_dumped(tmp_path: Path) -> None:
    scaled = [
        *ifm(0, (1, 1, 1)),
        *ofm(0x100, (1, 1, 1), scale_mode=0),
        *sets(SCALE_REGION=0, SCALE_BASE=80, SCALE_LENGTH=10),
    ]
    entry, arrays = run(tmp_path, 0, scaled, move(U85PoolingMode.SUM))
    assert (arrays["bias"], arrays["scale"], arrays["shift"]) == (5, 7, 9)
    assert entry.read == {"0": 10, "1": 1}
