"""Traces: the entry of each operation, and the arrays of a dump."""

import zlib
from pathlib import Path

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.trace import TraceObserver
from ethosgen.backend.trace import Trace
from ethosgen.values.errors import InputError, NpuFault
from tests.support.npu_bench import Bench, Program, ifm, kernel, ofm, sets

MAXIMUM: Program = [("NPU_OP_POOL", {"pooling_mode": 0})]
COPY_IN: Program = [
    ("NPU_SET_DMA0_DST_REGION", {"region": 1}),
    *sets(DMA0_SRC=0, DMA0_DST=0, DMA0_LEN=8),
    ("NPU_OP_DMA_START", {}),
]
POOL: Program = [*ifm(0, (2, 2, 2)), *ofm(0, (1, 1, 2)), *kernel(2, 2), *MAXIMUM]


def run(trace: Trace | None, *parts: Program) -> Bench:
    bench = Bench(constants=bytes(range(1, 9)))
    bench.machine.observer = TraceObserver(trace) if trace is not None else None
    bench.run(*parts)
    return bench


def test_each_operation_is_listed_with_what_it_read_and_wrote() -> None:
    trace = Trace()
    trace.begin_sample()
    trace.begin_partition("partition_0")
    run(trace, COPY_IN, POOL)
    copy, pool = trace.entries
    assert (copy.number, copy.name, copy.macs) == (0, "DMA 8 bytes 0:0x0 -> 1:0x0", 0)
    assert (copy.read, copy.written) == ({"0": 8}, {"1": 8})
    assert copy.checksum == zlib.crc32(bytes(range(1, 9)))
    assert (pool.number, pool.name) == (1, "POOL MAX 1x1x2 <- 2x2x2, kernel 2x2")
    assert (pool.read, pool.written, pool.checksum) == ({"1": 8}, {"1": 2}, zlib.crc32(b"\7\10"))
    assert pool.seconds > 0
    assert (pool.sample, pool.partition) == (0, "partition_0")


def test_a_second_sample_counts_from_0_and_its_entries_compare_without_times() -> None:
    trace = Trace()
    bench = Bench(constants=bytes(range(1, 9)))
    bench.machine.observer = TraceObserver(trace)
    for _ in range(2):
        trace.begin_sample()
        bench.run(COPY_IN, POOL)
    first, second = trace.entries[:2], trace.entries[2:]
    assert [(e.sample, e.number) for e in trace.entries] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [e.checksum for e in first] == [e.checksum for e in second]


def test_a_dump_keeps_inputs_as_they_were_and_what_came_of_them(tmp_path: Path) -> None:
    path = tmp_path / "pool.npz"
    trace = Trace({1: path})
    run(trace, COPY_IN, POOL)  # the OFM lies on the IFM
    trace.check_dumps()
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["ifm"].ravel().tolist() == list(range(1, 9))
        assert arrays["ofm"].tolist() == [[[7, 8]]]
        assert str(arrays["operation"]).startswith("POOL MAX 1x1x2")


def test_a_dma_is_dumped_as_the_bytes_that_it_wrote(tmp_path: Path) -> None:
    trace = Trace({0: tmp_path / "copy.npz"})
    run(trace, COPY_IN)
    with np.load(tmp_path / "copy.npz") as arrays:
        assert arrays["data"].ravel().tolist() == list(range(1, 9))


def test_elementwise_operands_are_kept_with_their_broadcast(tmp_path: Path) -> None:
    add: Program = [
        *ifm(0, (1, 2, 2)),
        ("NPU_SET_IFM2_BROADCAST", {"broadcast_w": 1}),
        ("NPU_SET_IFM2_PRECISION", {"activation_type": 1}),
        *sets(IFM2_REGION=1, IFM2_BASE0=4, IFM2_STRIDE_X=2, IFM2_STRIDE_Y=2),
        *sets(IFM2_WIDTH0_M1=1),
        *ofm(0x40, (1, 2, 2)),
        ("NPU_OP_ELEMENTWISE", {"elementwise_mode": 4}),
    ]
    path = tmp_path / "add.npz"
    trace = Trace({1: path})
    run(trace, COPY_IN, add)
    with np.load(path) as arrays:
        assert arrays["ifm2"].tolist() == [[[5, 6]]]
        assert arrays["ofm"].tolist() == [[[5, 6], [5, 6]]]
    assert trace.entries[1].read == {"1": 4 + 2}


def test_an_operation_that_never_runs_cannot_be_dumped(tmp_path: Path) -> None:
    trace = Trace({7: tmp_path / "x.npz"})
    run(trace, COPY_IN)
    with pytest.raises(InputError, match="no operation 7 to dump; an inference has 1"):
        trace.check_dumps()


def test_a_dump_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write"):
        run(Trace({0: tmp_path / "absent" / "x.npz"}), COPY_IN)


def test_a_fault_while_inputs_are_kept_has_its_place(tmp_path: Path) -> None:
    outside: Program = [*ifm(1 << 20, (2, 2, 2)), *ofm(0, (1, 1, 2)), *kernel(2, 2), *MAXIMUM]
    with pytest.raises(NpuFault) as caught:
        run(Trace({0: tmp_path / "x.npz"}), outside)
    assert caught.value.command == "NPU_OP_POOL"
    assert caught.value.offset > 0
    assert not (tmp_path / "x.npz").exists()
