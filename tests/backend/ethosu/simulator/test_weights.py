"""The order of weights, against Arm's encoder; scale records by hand."""

import numpy as np
import pytest
from ethosu import mlw_codec

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.ops.context import WeightCache
from ethosgen.backend.ethosu.simulator.weights import (
    BlockWeights,
    Traversal,
    decode_records,
    decode_weights,
)
from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import encode_weights, record


def encoded(order: Traversal, ohwi: np.ndarray, bits: int) -> bytes:
    data = mlw_codec.reorder_encode(
        order.ifm_ublock,
        order.ofm_ublock,
        np.ascontiguousarray(ohwi, np.int16),
        order.ofm_block_depth,
        order.depthwise,
        order.part_kernel_first,
        bits,
        order.sub_kernel[0],
        order.sub_kernel[1],
    )
    return bytes(data[0] if isinstance(data, tuple) else data)


@pytest.mark.parametrize("seed", range(20))
def test_weights_come_back_in_tflites_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    depthwise, part_kernel = seed % 4 == 3, seed % 4 in (1, 2)
    bits = 16 if seed % 5 == 4 else 8
    rounding = 4 if depthwise else (2 if bits == 16 else 4) if part_kernel else 1
    height, width = random.integers(1, 12, 2).tolist()
    out_depth, in_depth = random.integers(1, 70, 2).tolist()
    order = Traversal(
        shape=(out_depth, height, width, 1 if depthwise else in_depth),
        depthwise=depthwise,
        part_kernel_first=part_kernel,
        ofm_block_depth=int(random.choice([8, 16, 32])),
        ifm_block_depth=16 if part_kernel or bits == 16 else 32,
        ofm_ublock=4 if seed == 0 else 8,
        ifm_ublock=8,
        sub_kernel=(8, 4) if seed % 2 else (8, 8),
        round_to=rounding,
    )
    ohwi = random.integers(-127, 128, order.shape)
    result = decode_weights((encoded(order, ohwi, bits),), (order,))
    assert result.shape == ohwi.shape
    assert np.array_equal(result, ohwi)


def one_by_one(out_depth: int, block: int) -> Traversal:
    return Traversal((out_depth, 1, 1, 1), False, False, block, 32, 8, 8, (8, 8), 1)


def test_decoded_weights_are_kept_up_to_a_number_of_bytes() -> None:
    """Firmware that streams ever new weights through a buffer must not fill this machine."""
    order = one_by_one(1, 8)
    streams = [np.frombuffer(encode_weights([n] * 256), np.uint8) for n in range(20)]
    cache = WeightCache(limit_bytes=8 << 10)
    weights = BlockWeights(find_accelerator("ethos-u55-128"))
    first = cache.get((streams[0],), (order,), weights)
    assert cache.get((streams[0],), (order,), weights) is first
    for number, stream in enumerate(streams):
        assert cache.get((stream,), (order,), weights).matrix.tolist() == [[number]]
    assert 1 < len(cache) <= 8
    assert cache.get((streams[0],), (order,), weights) is not first


def test_two_cores_interleave_output_channels() -> None:
    # Depth first, one input channel: 4 IFM micro-blocks of 8, in each 8 output by 8 input channels.
    def stream(values: list[int]) -> bytes:
        grid = np.zeros((4, 8, 8), int)
        grid[0, : len(values), 0] = values
        return encode_weights(grid.ravel().tolist())

    merged = decode_weights((stream([10, 12]), stream([11])), (one_by_one(2, 8), one_by_one(1, 8)))
    assert merged.ravel().tolist() == [10, 11, 12]


def test_an_idle_second_core_needs_no_stream() -> None:
    grid = np.zeros((4, 8, 8), int)
    grid[0, 0, 0] = 5
    streams = (encode_weights(grid.ravel().tolist()), b"")
    assert decode_weights(streams, (one_by_one(1, 8), one_by_one(0, 8))).ravel().tolist() == [5]


def test_records_are_signed_40_bit_biases_with_scale_and_shift() -> None:
    data = record(-1, 0x8000_0001, 63) + record((1 << 39) - 1, 1, 0) + record(-(1 << 39), 7, 31)
    records = decode_records((data,), 3)
    assert records.bias.tolist() == [-1, (1 << 39) - 1, -(1 << 39)]
    assert records.scale.tolist() == [0x8000_0001, 1, 7]
    assert records.shift.tolist() == [63, 0, 31]


def test_records_of_two_cores_interleave() -> None:
    streams = (record(1, 1, 0) + record(3, 1, 0), record(2, 1, 0))
    assert decode_records(streams, 3).bias.tolist() == [1, 2, 3]


def test_a_short_record_stream_faults() -> None:
    with pytest.raises(NpuFault, match="too short for 2 channels"):
        decode_records((record(1, 1, 0) + b"\0" * 9,), 2)
