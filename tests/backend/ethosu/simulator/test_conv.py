"""Convolution and depthwise convolution, worked out by hand."""

import numpy as np
import pytest

from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import (
    Bench,
    Program,
    encode_weights,
    ifm,
    kernel,
    ofm,
    record,
    weights,
)

CONV: Program = [("NPU_OP_CONV", {})]
DEPTHWISE: Program = [("NPU_OP_DEPTHWISE", {})]
ONE = (1 << 30, 30)  # a factor of 1
HALF = (1 << 30, 31)


def depth_first(matrix: list[list[int]]) -> bytes:
    """A 1x1 kernel's weights, [output][input], up to 8 by 32, in depth-first order.

    Input channels go in micro-blocks of 8; within one, 8 output channels by 8 input channels.
    """
    grid = np.zeros((8, 32), int)
    for out, row in enumerate(matrix):
        grid[out, : len(row)] = row
    return encode_weights(grid.reshape(8, 4, 8).transpose(1, 0, 2).ravel().tolist())


def depthwise_3x3(taps: list[int]) -> bytes:
    """One channel's 3x3 kernel: 9 elements padded to 12, each with a micro-block of 8 channels."""
    grid = np.zeros((12, 8), int)
    grid[:9, 0] = taps
    return encode_weights(grid.ravel().tolist())


def test_the_order_of_zero_point_bias_scale_and_clip() -> None:
    # Pixels (1, 2) and (3, 4), zero point 1, so (0, 1) and (2, 3).
    # Output 0: 2a + 3b + 5 = 8 and 18; times 1, zero point -3: 5 and 15, clipped to 12.
    # Output 1: -a - b + 0 = -1 and -5; times 1/2: half up, -0.5 -> 0 and -2.5 -> -2; -3 and -5.
    program, constants = weights(
        depth_first([[2, 3], [-1, -1]]), record(5, *ONE) + record(0, *HALF)
    )
    bench = Bench(constants=constants)
    bench.put(0, [1, 2, 3, 4])
    report = bench.run(
        ifm(0, (1, 2, 2), zero_point=1),
        ofm(0x100, (1, 2, 2), zero_point=-3, clip=(-128, 12)),
        kernel(1, 1),
        program,
        CONV,
    )
    assert bench.get(0x100, (2, 2)).tolist() == [[5, -3], [12, -5]]
    assert (report.operations, report.macs) == (1, 8)


@pytest.mark.parametrize(("value", "expected"), [(127, 127), (-128, -128)])
def test_results_saturate(value: int, expected: int) -> None:
    # 127 * 127 and -128 * 127, unscaled, are far outside int8.
    program, constants = weights(depth_first([[127]]), record(0, *ONE))
    bench = Bench(constants=constants)
    bench.put(0, [value])
    bench.run(ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 1)), kernel(1, 1), program, CONV)
    assert bench.get(0x100, (1,)).tolist() == [expected]


def test_a_bias_of_40_bits_and_the_second_rounding() -> None:
    # bias 2**38 + 1, times 2**30 / 2**62 = 64 + 2**-32, rounds to 64.
    # bias -(2**37) - 2**36 over 2**32 = -48; and -(2**31) over 2**32 = -0.5, away from zero: -1.
    records = (
        record((1 << 38) + 1, 1 << 30, 62)
        + record(-(3 << 36), 1 << 30, 62)
        + record(-(1 << 31), 1 << 30, 62)
    )
    program, constants = weights(depth_first([[0], [0], [0]]), records)
    bench = Bench(constants=constants)
    bench.run(ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 3)), kernel(1, 1), program, CONV)
    assert bench.get(0x100, (3,)).tolist() == [64, -48, -1]


@pytest.mark.parametrize(("mode", "expected"), [(0, -1), (1, 0), (2, 0)])
def test_rounding_follows_the_ofm_precision(mode: int, expected: int) -> None:
    # -1 times 2**30 / 2**32 = -1/4. DBL: the first rounding makes it -1/4 exactly, the second 0 …
    # so take -2: -1/2. DBL away from zero: -1; TRUNCATE: 0; NATURAL, half up: 0.
    program, constants = weights(depth_first([[1]]), record(0, 1 << 30, 32))
    bench = Bench(constants=constants)
    bench.put(0, [-2])
    bench.run(
        ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 1), round_mode=mode), kernel(1, 1), program, CONV
    )
    assert bench.get(0x100, (1,)).tolist() == [expected]


@pytest.mark.parametrize("mode", [0, 2])
def test_one_output_is_what_it_is_among_others(mode: int) -> None:
    """A single pixel has separate arithmetic, but must equal one of a row of pixels."""
    taps, scale = [77], record(-700, 1_500_000_001, 36)
    pixels = [n - 128 for n in range(256)]
    rows = []
    for channels, width in ((1, 1), (2, 1), (1, 256)):
        program, constants = weights(depth_first([taps] * channels), scale * channels)
        bench = Bench(constants=constants)
        out = ofm(0x1000, (1, width, channels), zero_point=-5, clip=(-100, 90), round_mode=mode)
        stream = [*ifm(0, (1, width, 1), zero_point=3), *out, *kernel(1, 1), *program, *CONV]
        rows_of_width = []
        for start in range(0, 256, width):
            bench.put(0, pixels[start : start + width])
            bench.run(stream)
            rows_of_width += bench.get(0x1000, (width, channels))[:, -1].tolist()
        rows.append(rows_of_width)
    assert rows[0] == rows[1] == rows[2]
    assert min(rows[0]) == -100 and max(rows[0]) == 90


def test_a_global_scale_replaces_the_records() -> None:
    program, constants = weights(depth_first([[1]]), record(4, 12345, 3))
    bench = Bench(constants=constants)
    bench.put(0, [6])
    scale: Program = [("NPU_SET_OFM_SCALE", {"scale": 3, "shift": 1})]
    bench.run(
        ifm(0, (1, 1, 1)),
        ofm(0x100, (1, 1, 1), scale_mode=1, round_mode=2),
        kernel(1, 1), program, scale, CONV,
    )  # fmt: skip
    assert bench.get(0x100, (1,)).tolist() == [15]  # (6 + 4) * 3 / 2


def test_depthwise_padding_and_stride() -> None:
    # A 3x3 image 1..9 under a kernel of ones, padded by 1, stride 2: the four corner sums.
    program, constants = weights(depthwise_3x3([1] * 9), record(0, *ONE))
    bench = Bench(constants=constants)
    bench.put(0, range(1, 10))
    bench.run(
        ifm(0, (3, 3, 1)),
        ofm(0x100, (2, 2, 1)),
        kernel(3, 3, stride=(2, 2), padding=(1, 1, 1, 1)),
        program,
        DEPTHWISE,
    )
    # 1+2+4+5, 2+3+5+6, 4+5+7+8, 5+6+8+9
    assert bench.get(0x100, (2, 2)).tolist() == [[12, 16], [24, 28]]


def test_padding_counts_as_the_zero_point() -> None:
    # An image of zero points sums to 0 everywhere, also at the border.
    program, constants = weights(depthwise_3x3([7] * 9), record(0, *ONE))
    bench = Bench(constants=constants)
    bench.put(0, [-5] * 9)
    bench.run(
        ifm(0, (3, 3, 1), zero_point=-5),
        ofm(0x100, (3, 3, 1), zero_point=2),
        kernel(3, 3, padding=(1, 1, 1, 1)),
        program,
        DEPTHWISE,
    )
    assert np.all(bench.get(0x100, (9,)) == 2)


def test_dilation_spreads_the_taps() -> None:
    # Kernel 3x3 with dilation 2 over a 5x5 image: taps at rows and columns 0, 2, 4. With dilation
    # 2 a sub-kernel is 4x4, so the 3x3 kernel is still one sub-kernel.
    program, constants = weights(depthwise_3x3([1, 0, 0, 0, 10, 0, 0, 0, 100]), record(0, 1, 0))
    bench = Bench(constants=constants)
    image = np.zeros((5, 5), int)
    image[0, 0], image[2, 2], image[4, 4] = 1, 2, 3
    bench.put(0, image)
    bench.run(
        ifm(0, (5, 5, 1)),
        ofm(0x100, (1, 1, 1), "int16"),
        kernel(3, 3, dilation=(2, 2)),
        program,
        DEPTHWISE,
    )
    assert bench.get(0x100, (1,), "int16").tolist() == [1 + 20 + 300]


@pytest.mark.parametrize(("mode", "expected"), [(1, [1, 1, 2, 2]), (2, [1, 0, 2, 0])])
def test_the_ifm_is_upscaled(mode: int, expected: list[int]) -> None:
    # A row of two pixels becomes four: repeated (NEAREST), or with zeros between (ZEROS).
    program, constants = weights(depth_first([[1]]), record(0, *ONE))
    bench = Bench(constants=constants)
    bench.put(0, [1, 2])
    bench.run(
        ifm(0, (1, 2, 1)),
        [("NPU_SET_IFM_UPSCALE", {"mode": mode})],
        ofm(0x100, (2, 4, 1)),
        kernel(1, 1), program, CONV,
    )  # fmt: skip
    second = expected if mode == 1 else [0, 0, 0, 0]
    assert bench.get(0x100, (2, 4)).tolist() == [expected, second]


def test_bricks_and_uint8() -> None:
    # 17 channels in NHCWB16: the last lies in a brick of its own. Weight 1 on channels 0 and 16.
    row = [0] * 17
    row[0], row[16] = 1, 1
    program, constants = weights(depth_first([row]), record(0, *ONE))
    bench = Bench(constants=constants)
    bench.put(0, [200] + [9] * 15, "uint8")  # pixel 0, brick 0
    bench.put(16, [100] + [9] * 15, "uint8")  # pixel 1, brick 0
    bench.put(32, [3], "uint8")  # pixel 0, brick 1
    bench.put(48, [4], "uint8")
    bench.run(
        ifm(0, (1, 2, 17), "uint8", brick=True),
        ofm(0x100, (1, 2, 1), "uint8", brick=True),
        kernel(1, 1), program, CONV,
    )  # fmt: skip
    assert bench.get(0x100, (1,), "uint8").tolist() == [203]
    assert bench.get(0x110, (1,), "uint8").tolist() == [104]


def test_depths_of_a_depthwise_convolution_must_agree() -> None:
    program, constants = weights(depthwise_3x3([1] * 9), record(0, *ONE))
    with pytest.raises(NpuFault, match="needs equal depths, not 2 and 1"):
        Bench(constants=constants).run(
            ifm(0, (3, 3, 2)), ofm(0x100, (1, 1, 1)), kernel(3, 3), program, DEPTHWISE
        )


def test_two_cores_take_turns_in_output_channels() -> None:
    even, odd = depth_first([[1]]), depth_first([[2]])
    first, constants = weights(even, record(0, *ONE), block_depth=16)
    at = len(constants)
    records = record(10, *ONE).ljust(16, b"\0")
    second: Program = [
        ("NPU_SET_SCALE1_BASE", {"addr": at}),
        ("NPU_SET_SCALE1_LENGTH", {"length": 16}),
        ("NPU_SET_WEIGHT1_BASE", {"addr": at + 16}),
        ("NPU_SET_WEIGHT1_LENGTH", {"length": len(odd)}),
    ]
    bench = Bench("ethos-u65-512", constants + records + odd)
    bench.put(0, [7])
    parallel: Program = [("NPU_SET_PARALLEL_MODE", {"parallel_mode": 1})]
    shapes = [*ifm(0, (1, 1, 1)), *ofm(0x100, (1, 1, 2)), *kernel(1, 1)]
    bench.run(parallel, shapes, first, second, CONV)
    assert bench.get(0x100, (2,)).tolist() == [7, 24]  # 7 * 1 and 7 * 2 + 10


def test_streams_must_be_aligned() -> None:
    program, constants = weights(depth_first([[1]]), record(0, *ONE))
    with pytest.raises(NpuFault, match="a weight or scale stream at 0x20000008 is not aligned"):
        Bench(constants=constants).run(
            ifm(0, (1, 1, 1)),
            ofm(0x100, (1, 1, 1)),
            kernel(1, 1),
            program,
            [("NPU_SET_WEIGHT_BASE", {"addr": 8})],
            CONV,
        )


def test_weights_and_records_are_looked_at_again_in_each_run() -> None:
    # A run keeps what it decoded; the CPU, or a DMA command, may write other weights before the
    # next.
    def constants(weight: int, bias: int) -> bytes:
        return weights(depth_first([[weight]]), record(bias, *ONE))[1]

    program, first = weights(depth_first([[3]]), record(7, *ONE))
    bench = Bench(constants=first)
    parts = (ifm(0, (1, 1, 1)), ofm(0x100, (1, 1, 1)), kernel(1, 1), program, CONV)
    for weight, bias in ((3, 7), (-5, 7), (-5, 1), (3, 7)):
        bench.constants[: len(first)] = np.frombuffer(constants(weight, bias), np.uint8)
        for value in (2, -1):
            bench.put(0, [value])
            bench.run(*parts)
            assert bench.get(0x100, (1,)).tolist() == [value * weight + bias]
    bench.constants[: len(first)] = 0x55
    with pytest.raises(NpuFault) as caught:
        bench.run(*parts)
    assert (caught.value.kind, caught.value.command) == ("weights", "NPU_OP_CONV")
    bench.constants[: len(first)] = np.frombuffer(first, np.uint8)
    bench.run(*parts)
    assert bench.get(0x100, (1,)).tolist() == [4]
