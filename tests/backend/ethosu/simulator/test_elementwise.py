"""Elementwise operations, worked out by hand."""

from typing import Any

import numpy as np
import pytest

from ethosgen.backend.ethosu.isa import ElementwiseMode
from tests.support.npu_bench import Bench, Program, ifm, ifm2, ofm, scale, sets

Values = list[int]
UNIT = [*scale("OFM", 1, 0), *scale("OPA", 1, 0), *sets(OPB_SCALE=1)]


def op(mode: ElementwiseMode) -> Program:
    return [("NPU_OP_ELEMENTWISE", {"elementwise_mode": mode})]


def broadcast(**fields: int) -> Program:
    return [("NPU_SET_IFM2_BROADCAST", fields)]


def unary(mode: ElementwiseMode, a: Values, dtype: str = "int8", *more: Program, **out: Any) -> Any:
    bench = Bench()
    bench.put(0, a, dtype)
    shape = (1, 1, len(a))
    bench.run(ifm(0, shape, dtype), ofm(0x100, shape, dtype, **out), UNIT, *more, op(mode))
    return bench.get(0x100, (len(a),), dtype).tolist()


def binary(
    mode: ElementwiseMode, a: Values, b: Values, dtype: str = "int8", *more: Program, **out: Any
) -> Any:
    bench = Bench()
    bench.put(0, a, dtype)
    bench.put(0x80, b, dtype)
    shape = (1, 1, len(a))
    bench.run(
        ifm(0, shape, dtype),
        ifm2(0x80, shape, dtype),
        broadcast(),
        ofm(0x100, shape, out.pop("to", dtype), **out),
        UNIT,
        *more,
        op(mode),
    )
    return bench.get(0x100, (len(a),), "int32" if "int32" in str(dtype) else dtype).tolist()


def test_add_and_subtract_saturate() -> None:
    assert binary(ElementwiseMode.ADD, [100, -100, 3], [100, -100, 4]) == [127, -128, 7]
    assert binary(ElementwiseMode.SUB, [100, -100, 3], [-100, 100, 4]) == [127, -128, -1]


def test_both_operands_have_16_bit_factors() -> None:
    # (3 * 2 + 5 * 3) / 2 = 10.5, half up 11; (-3 * 2 - 5 * 3) / 2 = -10.5, half up -10.
    factors = [*scale("OPA", 2, 0), *sets(OPB_SCALE=3), *scale("OFM", 1, 1)]
    result = binary(
        ElementwiseMode.ADD, [3, -3], [5, -5], "int8", factors, scale_mode=1, round_mode=2
    )
    assert result == [11, -10]


@pytest.mark.parametrize(("mode", "expected"), [(1, [24, -24]), (2, [20, -20])])
def test_one_operand_is_scaled_by_32_bits(mode: int, expected: Values) -> None:
    # TFLite's ADD with input scales 1/2 : 1. The operand with the larger scale counts 2**19; the
    # other is scaled by 2**18 = 2**30 / 2**12. The sum, over 2**18, counts in quarters of the
    # full range: OPA_32: 4 + 2 * 10 = 24; OPB_32: 2 * 4 + 10 = 18 — but here b is the same 2
    # and 8: see below.
    a, b = ([4, -4], [10, -10]) if mode == 1 else ([8, -8], [4, -4])
    precision: Program = [
        ("NPU_SET_IFM_PRECISION", {"activation_type": 1, "scale_mode": mode, "round_mode": 0})
    ]
    factors = [*scale("OPA", 1 << 30, 12), *scale("OFM", 1 << 13, 31)]
    # OPA_32: 4 * 2**18 + 10 * 2**19 = 24 * 2**18. OPB_32: 8 * 2**19 + 4 * 2**18 = 20 * 2**18.
    result = binary(ElementwiseMode.ADD, a, b, "int8", precision, factors, scale_mode=1)
    assert result == expected


def test_operands_of_16_bits_are_shifted_by_one_less_than_15() -> None:
    # 300 * 2**14 + 100 * 2**13, over 2**14: 350.
    precision: Program = [
        (
            "NPU_SET_IFM_PRECISION",
            {"activation_type": 1, "activation_precision": 1, "scale_mode": 2},
        )
    ]
    factors = [*scale("OPA", 1 << 13, 0), *scale("OFM", 1 << 17, 31)]
    result = binary(ElementwiseMode.ADD, [300], [100], "int16", precision, factors, scale_mode=1)
    assert result == [350]


def test_multiply_scales_and_rounds() -> None:
    # 7 * 3 / 2 = 10.5 and -7 * 3 / 2 = -10.5: NATURAL 11 and -10; 127 * 127 / 2 saturates.
    result = binary(
        ElementwiseMode.MUL, [7, -7, 127], [3, 3, 127], "int8", scale("OFM", 1, 1),
        scale_mode=1, round_mode=2,
    )  # fmt: skip
    assert result == [11, -10, 127]


def test_a_product_of_32_bit_operands_is_shifted_only() -> None:
    # The scale of OFM_SCALE is ignored: 3 * 2**30 * 2**30 / 2**31 = 3 * 2**29; 5 * 3 / 2 = 7.5 -> 8
    # (half up); -5 * 3 / 2 = -7.5 -> -7.
    big = binary(
        ElementwiseMode.MUL, [1 << 30], [3 << 29], "int32", scale("OFM", 99, 31), scale_mode=1
    )
    assert big == [3 << 28]
    small = binary(ElementwiseMode.MUL, [5, -5], [3, 3], "int32", scale("OFM", 99, 1), scale_mode=1)
    assert small == [8, -7]


def test_minimum_and_maximum_take_zero_points_into_account() -> None:
    bench = Bench()
    bench.put(0, [10, -10])
    bench.put(0x80, [5, 5])
    for mode, expected in ((ElementwiseMode.MIN, [4, -10]), (ElementwiseMode.MAX, [10, 4])):
        # a - 2 against b - 3, and 2 added to the result: 8 and -12 against 2 and 2
        bench.run(
            ifm(0, (1, 1, 2), zero_point=2),
            ifm2(0x80, (1, 1, 2), zero_point=3),
            broadcast(),
            ofm(0x100, (1, 1, 2), zero_point=2),
            op(mode),
        )
        assert bench.get(0x100, (2,)).tolist() == expected


def test_leaky_relu_scales_negative_values_only() -> None:
    # alpha = 1/4, DBL at a shift of 2 is half up: -10 / 4 = -2.5 -> -2; -11 / 4 = -2.75 -> -3
    result = unary(
        ElementwiseMode.LRELU, [12, 0, -10, -11], "int8", scale("OFM", 1, 2), scale_mode=1
    )
    assert result == [12, 0, -2, -3]


def test_absolute_values_saturate() -> None:
    assert unary(ElementwiseMode.ABS, [-5, 5, -128]) == [5, 5, 127]


def test_leading_zeros() -> None:
    values = [0, 1, 2, 3, 255, 256, 2**31 - 1, -1]
    expected = [32, 31, 30, 30, 24, 23, 1, 0]
    assert unary(ElementwiseMode.CLZ, values, "int32") == expected


@pytest.mark.parametrize(("mode", "expected"), [(2, [3, -2, 1, 7]), (1, [2, -2, 0, 7])])
def test_shift_right_rounds(mode: int, expected: Values) -> None:
    # 5/2, -5/2, 1/2, 7/1
    result = binary(ElementwiseMode.SHR, [5, -5, 1, 7], [1, 1, 1, 0], "int32", round_mode=mode)
    assert result == expected


def test_one_shift_for_all_is_read_again_at_every_run() -> None:
    bench = Bench()
    bench.put(0, [5, -5, 1, 8], "int32")
    for amount, expected in ((1, [3, -2, 1, 4]), (1, [3, -2, 1, 4]), (2, [1, -1, 0, 2])):
        bench.put(0x80, [amount], "int32")
        bench.run(
            ifm(0, (1, 1, 4), "int32"),
            ifm2(0x80, (1, 1, 1), "int32"),
            broadcast(broadcast_c=1),
            ofm(0x100, (1, 1, 4), "int32", round_mode=2),
            op(ElementwiseMode.SHR),
        )
        assert bench.get(0x100, (4,), "int32").tolist() == expected


def test_shift_left_loses_what_leaves_32_bits() -> None:
    result = binary(ElementwiseMode.SHL, [1, -1, 3, 5], [4, 31, 31, 32], "int32")
    assert result == [16, -(2**31), -(2**31), 0]


def test_a_scalar_stands_for_the_second_operand() -> None:
    bench = Bench()
    bench.put(0, [1, 2, 3, 4])
    program = [
        *ifm(0, (2, 1, 2)),
        *ifm2(0x80, (1, 1, 1), zero_point=1),
        *sets(IFM2_SCALAR=-9),
        *ofm(0x100, (2, 1, 2)),
        *UNIT,
    ]
    bench.run(program, broadcast(broadcast_constant=1), op(ElementwiseMode.SUB))
    assert bench.get(0x100, (4,)).tolist() == [11, 12, 13, 14]  # a - (-9 - 1)
    bench.run(program, broadcast(broadcast_constant=1, operand_order=1), op(ElementwiseMode.SUB))
    assert bench.get(0x100, (4,)).tolist() == [-11, -12, -13, -14]


def test_a_scalar_is_shifted_by_each_element() -> None:
    # 9 >> 0, 1, 2 and 3, halves rounded up: 9, 4.5 -> 5, 2.25 -> 2, 1.125 -> 1
    bench = Bench()
    bench.put(0, [0, 1, 2, 3], "int32")
    bench.put(0x80, [9], "int32")
    bench.run(
        ifm(0, (1, 1, 4), "int32"),
        ifm2(0x80, (1, 1, 1), "int32"),
        broadcast(broadcast_c=1, operand_order=1),
        ofm(0x100, (1, 1, 4), "int32", round_mode=2),
        op(ElementwiseMode.SHR),
    )
    assert bench.get(0x100, (4,), "int32").tolist() == [9, 5, 2, 1]


@pytest.mark.parametrize("axes", ["", "h", "w", "c", "hw", "hc", "wc", "hwc"])
@pytest.mark.parametrize("reverse", [0, 1])
def test_the_second_operand_is_broadcast(axes: str, reverse: int) -> None:
    bench = Bench()
    a = np.arange(12).reshape(2, 3, 2)
    shape = tuple(1 if axis in axes else n for axis, n in zip("hwc", a.shape, strict=True))
    b = np.arange(int(np.prod(shape))).reshape(shape) * 5
    bench.put(0, a)
    bench.put(0x80, b)
    bench.run(
        ifm(0, (2, 3, 2)),
        ifm2(0x80, (shape[0], shape[1], shape[2])),
        broadcast(operand_order=reverse, **{f"broadcast_{axis}": 1 for axis in axes}),
        ofm(0x100, (2, 3, 2)),
        UNIT,
        op(ElementwiseMode.SUB),
    )
    expected = b - a if reverse else a - b
    assert np.array_equal(bench.get(0x100, (2, 3, 2)), np.broadcast_to(expected, (2, 3, 2)))
