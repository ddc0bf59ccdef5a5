"""Copies between regions and into SHRAM."""

import pytest

from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import Bench, Program, sets

START: Program = [("NPU_OP_DMA_START", {})]


def regions(source: int = 1, destination: int = 1, dims: int = 1, internal: int = 0) -> Program:
    return [
        ("NPU_SET_DMA0_SRC_REGION", {"region": source}),
        (
            "NPU_SET_DMA0_DST_REGION",
            {"region": destination, "stride_mode": dims - 1, "region_mode": internal},
        ),
    ]


def test_bytes_are_copied_between_regions() -> None:
    bench = Bench(constants=bytes(range(100)))
    bench.run(regions(source=0), sets(DMA0_SRC=10, DMA0_DST=5, DMA0_LEN=3), START)
    assert bench.get(4, (5,)).tolist() == [0, 10, 11, 12, 0]


def test_overlapping_ranges_are_copied_as_if_by_way_of_a_buffer() -> None:
    bench = Bench()
    bench.put(0, [1, 2, 3, 4, 5])
    bench.run(regions(), sets(DMA0_SRC=0, DMA0_DST=1, DMA0_LEN=4), START)
    assert bench.get(0, (5,)).tolist() == [1, 1, 2, 3, 4]


def test_rows_and_planes_of_u65() -> None:
    # 2 planes of 2 rows of 2 bytes; rows 3 bytes apart, planes 8.
    bench = Bench("ethos-u65-256")
    bench.put(0, [1, 2, 3, 4, 5, 6, 7, 8])
    bench.run(
        regions(dims=3),
        sets(DMA0_DST=16, DMA0_LEN=2, DMA0_SIZE0=2, DMA0_SKIP0=1, DMA0_SIZE1=2, DMA0_SKIP1=4),
        START,
    )
    assert bench.get(16, (13,)).tolist() == [1, 2, 0, 3, 4, 0, 0, 0, 5, 6, 0, 7, 8]


def test_u55_has_no_strides() -> None:
    with pytest.raises(NpuFault, match="asks for stride mode 1"):
        Bench("ethos-u55-128").run(regions(dims=2), sets(DMA0_LEN=1), START)


def test_a_length_of_zero_copies_nothing() -> None:
    Bench().run(regions(), sets(DMA0_SRC=0, DMA0_DST=1 << 30), START)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ([*regions(destination=0), *sets(DMA0_LEN=4)], "write to read-only memory 'constants'"),
        ([*regions(), *sets(DMA0_LEN=4, DMA0_DST=0xFFFE)], "write outside the memories"),
        ([*regions(), *sets(DMA0_LEN=4, DMA0_SRC=0xFFFE)], "read outside the memories"),
        ([*regions(source=5), *sets(DMA0_LEN=4)], "region 5 has no base pointer"),
        ([*regions(internal=1), *sets(DMA0_LEN=4, DMA0_DST=24 << 10)], "outside the NPU's own"),
        ([*regions(), *sets(DMA0_LEN=1 << 32)], "too large for the model"),
    ],
)
def test_what_cannot_be_copied_faults(program: Program, reason: str) -> None:
    with pytest.raises(NpuFault, match=reason) as caught:
        Bench().run(program, START)
    assert caught.value.command == "NPU_OP_DMA_START"
