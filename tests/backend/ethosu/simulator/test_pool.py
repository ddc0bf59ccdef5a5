"""Pooling, worked out by hand."""

import numpy as np
import pytest

from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import Bench, Program, ifm, kernel, ofm, scale


def pool(mode: int) -> Program:
    return [("NPU_OP_POOL", {"pooling_mode": mode})]


MAX, AVERAGE, REDUCE_SUM = pool(0), pool(1), pool(2)


def test_the_maximum_ignores_padding() -> None:
    # 2x2 windows, stride 2, over a 3x3 image padded by one row and column at the end.
    bench = Bench()
    bench.put(0, [-9, -8, -7, -6, -5, -4, -3, -2, -1])
    bench.run(
        ifm(0, (3, 3, 1)),
        ofm(0x100, (2, 2, 1)),
        kernel(2, 2, stride=(2, 2), padding=(0, 0, 1, 1)),
        MAX,
    )
    assert bench.get(0x100, (2, 2)).tolist() == [[-5, -4], [-2, -1]]


@pytest.mark.parametrize(("mode", "second"), [(1, [1, 1, -2, -2]), (2, [3, 3, 3, 3])])
def test_the_maximum_of_an_upscaled_ifm(mode: int, second: list[int]) -> None:
    # NEAREST repeats the row; ZEROS puts the zero point, 3, between, and it is added again.
    bench = Bench()
    bench.put(0, [1, -2])
    bench.run(
        ifm(0, (1, 2, 1), zero_point=3),
        [("NPU_SET_IFM_UPSCALE", {"mode": mode})],
        ofm(0x100, (2, 4, 1), zero_point=3),
        kernel(1, 1),
        MAX,
    )
    assert bench.get(0x100, (2, 4))[1].tolist() == second


def test_the_maximum_is_clipped() -> None:
    bench = Bench()
    bench.put(0, [100, -100])
    bench.run(ifm(0, (1, 2, 1)), ofm(0x100, (1, 2, 1), clip=(-50, 60)), kernel(1, 1), MAX)
    assert bench.get(0x100, (2,)).tolist() == [60, -50]


def test_an_average_is_divided_by_ofm_scale() -> None:
    # Sums 10 and -10 over 4 elements: scale 2**30 / 2**32. NATURAL rounds 2.5 to 3, -2.5 to -2.
    bench = Bench()
    bench.put(0, [1, 2, 3, 4, -1, -2, -3, -4])
    bench.run(
        ifm(0, (1, 8, 1)),
        ofm(0x100, (1, 2, 1), scale_mode=1, round_mode=2),
        kernel(1, 4, stride=(1, 4)),
        scale("OFM", 1 << 30, 32),
        AVERAGE,
    )
    assert bench.get(0x100, (2,)).tolist() == [3, -2]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_padded_average_counts_elements_inside_only(sign: int) -> None:
    # 3x3 over a 2x2 image of 1, 2, 4, 7, padded all round: every window holds all four, sum 14,
    # 14 / 4 = 3.5, and the scale that is a little above 1/4 takes halves away from zero.
    # With 1x3 windows the corners hold 2 elements: 1 + 2 = 3, 3 / 2 = 1.5 -> 2; 4 + 7 = 11 -> 6.
    bench = Bench()
    bench.put(0, sign * np.array([1, 2, 4, 7]))
    shapes = [*ifm(0, (2, 2, 1)), *ofm(0x100, (2, 2, 1), scale_mode=1, round_mode=2)]
    unit = scale("OFM", 1, 0)
    bench.run(shapes, kernel(3, 3, padding=(1, 1, 1, 1)), unit, AVERAGE)
    assert (sign * bench.get(0x100, (4,))).tolist() == [4, 4, 4, 4]
    bench.run(shapes, kernel(1, 3, padding=(0, 1, 0, 1)), unit, AVERAGE)
    assert (sign * bench.get(0x100, (4,))).tolist() == [2, 2, 6, 6]


def test_an_average_of_one_element_copies_and_converts() -> None:
    bench = Bench()
    bench.put(0, [300, -300, 5], "int16")
    bench.run(
        ifm(0, (1, 3, 1), "int16"),
        ofm(0x100, (1, 3, 1), "int8", zero_point=1),
        kernel(1, 1),
        AVERAGE,
    )
    assert bench.get(0x100, (3,)).tolist() == [127, -128, 6]


def test_the_sum_over_channels() -> None:
    # 3 channels, zero point 1: 2 + 3 + 4 = 9 and 125 * 3 = 375; scale 1/2, half up: 5 and 188.
    bench = Bench()
    bench.put(0, [3, 4, 5, 126, 126, 126])
    bench.run(
        ifm(0, (1, 2, 3), zero_point=1),
        ofm(0x100, (1, 2, 1), "int32", scale_mode=1, round_mode=2),
        kernel(1, 1),
        scale("OFM", 1, 1),
        REDUCE_SUM,
    )
    assert bench.get(0x100, (2,), "int32").tolist() == [5, 188]
    # The same into int8 saturates.
    bench.run(
        ifm(0, (1, 2, 3), zero_point=1),
        ofm(0x200, (1, 2, 1), "int8", scale_mode=1, round_mode=2),
        kernel(1, 1),
        scale("OFM", 1, 1),
        REDUCE_SUM,
    )
    assert bench.get(0x200, (2,)).tolist() == [5, 127]


def test_a_sum_of_32_bit_values_does_not_wrap_on_the_way() -> None:
    bench = Bench()
    bench.put(0, [2**31 - 1, 2**31 - 1, -(2**31)], "int32")
    bench.run(ifm(0, (1, 1, 3), "int32"), ofm(0x100, (1, 1, 1), "int32"), kernel(1, 1), REDUCE_SUM)
    assert bench.get(0x100, (1,), "int32").tolist() == [2**31 - 2]


def test_depths_must_fit_the_mode() -> None:
    with pytest.raises(NpuFault, match="MAX cannot have IFM and OFM depths 2 and 1"):
        Bench().run(ifm(0, (1, 1, 2)), ofm(0x100, (1, 1, 1)), kernel(1, 1), MAX)
    with pytest.raises(NpuFault, match="undefined pooling mode 7"):
        Bench().run(ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 1)), kernel(1, 1), pool(7))
