"""Clipping, look-up tables, and the built-in functions."""

import math

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.ops.curves import sigmoid, tanh
from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import Bench, Program, ifm, kernel, ofm, sets

AVERAGE: Program = [("NPU_OP_POOL", {"pooling_mode": 1})]
SHRAM_BYTES = {"ethos-u55-128": 24 << 10, "ethos-u55-32": 16 << 10, "ethos-u65-512": 48 << 10}
TABLE_0 = 16


def load(slot: int, size: int, shram: int) -> Program:
    """Copy a table from scratch at 0x1000 to a slot; tables lie in SHRAM's last 2 KiB."""
    return [
        ("NPU_SET_DMA0_SRC_REGION", {"region": 1}),
        ("NPU_SET_DMA0_DST_REGION", {"region_mode": 1}),
        *sets(DMA0_SRC=0x1000, DMA0_DST=shram - 2048 + 256 * slot, DMA0_LEN=size),
        ("NPU_OP_DMA_START", {}),
    ]


def look_up(
    table: np.ndarray, values: list[int], dtype: str, slot: int = 0, npu: str = "ethos-u55-128",
    to: str | None = None, clip_range: int = 0,
) -> list[int]:  # fmt: skip
    bench = Bench(npu)
    bench.put(0, values, dtype)
    bench.put(0x1000, table, str(table.dtype))
    shape = (1, 1, len(values))
    bench.run(
        load(slot, table.nbytes, SHRAM_BYTES[npu]),
        ifm(0, shape, dtype),
        ofm(0x100, shape, to or dtype, function=TABLE_0 + slot, clip_range=clip_range),
        kernel(1, 1),
        AVERAGE,
    )
    result: list[int] = bench.get(0x100, (len(values),), to or dtype).tolist()
    return result


@pytest.mark.parametrize("npu", SHRAM_BYTES)
@pytest.mark.parametrize("slot", [0, 7])
def test_a_table_of_int8_starts_at_minus_128(npu: str, slot: int) -> None:
    table = np.arange(127, -129, -1).astype(np.int8)  # -128 -> 127, -127 -> 126, 127 -> -128
    assert look_up(table, [-128, -127, 0, 127], "int8", slot, npu) == [127, 126, -1, -128]


def test_a_table_of_uint8_starts_at_0() -> None:
    table = np.arange(255, -1, -1).astype(np.uint8)
    assert look_up(table, [0, 1, 255], "uint8") == [255, 254, 0]


def test_a_table_of_int32_is_indexed_by_clipped_int8() -> None:
    table = (np.arange(-128, 128) * 1000).astype(np.int32)
    result = look_up(table, [-300, -1, 300], "int16", to="int32", clip_range=3)
    assert result == [-128000, -1000, 127000]


def test_a_table_for_int16_interpolates() -> None:
    # Entry 256 (values 0..127): base 10, slope 64: at 0 it is 10, at 1 10.5 -> 11, at 2 11.
    # Entry 255 (values -128..-1): base -100, slope -3: at -1 -100 - 127 * 3 / 128 -> -103.
    table = np.zeros(512, np.uint32)
    table[256] = 10 | 64 << 16
    table[255] = (-100 & 0xFFFF) | (-3 & 0xFFFF) << 16
    assert look_up(table, [0, 1, 2, -128, -1], "int16") == [10, 11, 11, -100, -103]


def test_a_table_beyond_shram_faults() -> None:
    with pytest.raises(NpuFault, match="a table of 1,024 bytes in slot 7 is beyond SHRAM"):
        Bench().run(
            ifm(0, (1, 1, 1)),
            ofm(0x100, (1, 1, 1), "int32", function=TABLE_0 + 7, clip_range=3),
            kernel(1, 1),
            AVERAGE,
        )


def test_a_table_needs_a_range_that_indexes_it() -> None:
    with pytest.raises(NpuFault, match="cannot be indexed by a range of"):
        Bench().run(
            ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 1), "int32", function=16), kernel(1, 1), AVERAGE
        )


@pytest.mark.parametrize(
    ("dtype", "clip_range", "clip", "value", "expected"),
    [
        ("int8", 0, (-5, 5), 9, 5),
        ("int8", 0, (-5, 5), -9, -5),
        ("int8", 0, (-300, 300), 200, 127),  # the OFM's own range is narrower
        ("int16", 2, (-32768, 32767), -9, 0),  # FORCE_UINT8
        ("int16", 3, (-32768, 32767), 200, 127),  # FORCE_INT8
        ("int32", 5, (-100, 100), 200, 100),  # FORCE_INT16 makes min and max count for int32
        ("int32", 0, (-100, 100), 200, 200),  # which they do not by themselves
        ("int8", 0, (5, -5), 9, -5),  # a nonsensical range must not break anything
    ],
)
def test_clipping(
    dtype: str, clip_range: int, clip: tuple[int, int], value: int, expected: int
) -> None:
    bench = Bench()
    bench.put(0, [value], "int16")
    bench.run(
        ifm(0, (1, 1, 1), "int16"),
        ofm(0x100, (1, 1, 1), dtype, clip=clip, clip_range=clip_range),
        kernel(1, 1),
        AVERAGE,
    )
    assert bench.get(0x100, (1,), dtype).tolist() == [expected]


def test_built_in_curves_are_within_two_of_the_real_functions() -> None:
    values = np.arange(-98304, 98305, 7)  # 3 * int16, in 1 / 12288
    real = values / 12288
    exact = 32768 / (1 + np.exp(-real))
    assert np.max(np.abs(sigmoid(values) - np.minimum(exact, 32767))) < 12  # it ends at 32757
    near = np.abs(real) < 7
    assert np.max(np.abs(sigmoid(values)[near] - exact[near])) < 2
    assert np.max(np.abs(tanh(values) - np.clip(32768 * np.tanh(real), -32768, 32767))) < 4


def test_built_in_curves_by_hand() -> None:
    assert sigmoid(np.array([0])).tolist() == [16384]
    assert tanh(np.array([0])).tolist() == [0]
    # x = 1/24 = 512 / 12288: the table's second entry, 33451 of 65536; halved 16725.5, up 16726
    assert math.floor(65536 / (1 + math.exp(-1 / 24)) + 0.5) == 33451
    assert sigmoid(np.array([512, -512])).tolist() == [16726, 16042]


def test_built_in_functions_need_int16() -> None:
    with pytest.raises(NpuFault, match="only for 16-bit signed OFMs"):
        Bench().run(ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 1), function=3), kernel(1, 1), AVERAGE)


@pytest.mark.parametrize(("function", "expected"), [(0, [5, -7]), (TABLE_0, [1007, 995])])
def test_32_bits_have_no_zero_point_unless_they_are_looked_up(
    function: int, expected: list[int]
) -> None:
    # Softmax by Velas up to 4.2: SUB looks up (x + 127), what follows is plain and has a stray -1.
    bench = Bench()
    bench.put(0, [5, -7])
    bench.put(0x1000, np.arange(1000 - 128, 1000 + 128), "int32")
    look_up_range = 3 if function else 0  # FORCE_INT8
    bench.run(
        load(0, 1024, SHRAM_BYTES["ethos-u55-128"]),
        ifm(0, (1, 1, 2)),
        ofm(0x100, (1, 1, 2), "int32", zero_point=2, function=function, clip_range=look_up_range),
        kernel(1, 1),
        AVERAGE,
    )
    assert bench.get(0x100, (2,), "int32").tolist() == expected
