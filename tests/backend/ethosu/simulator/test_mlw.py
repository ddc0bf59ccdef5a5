"""The weight stream: against Arm's encoder, by hand, and with garbage."""

import numpy as np
import pytest
from ethosu import mlw_codec

from ethosgen.backend.ethosu.simulator import mlw
from ethosgen.values.errors import NpuFault
from tests.support.npu_bench import encode_weights


@pytest.mark.parametrize("seed", range(24))
def test_decodes_what_arms_encoder_writes(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 50000 if seed < 4 else 3000))
    spread = float(random.choice([0.5, 3, 20, 90]))
    values = np.clip(np.round(random.normal(0, spread, count)), -255, 255).astype(np.int64)
    if seed % 3 == 0:
        values[random.random(count) < 0.8] = 0  # long runs of zeros
    if seed % 5 == 0:
        values = random.choice([-7, 1, 40, 99], count)  # a small palette
    stream = bytes(mlw_codec.encode(values.tolist()))
    assert mlw.decode(stream, count).tolist() == values.tolist()


def test_an_uncompressed_slice_by_hand() -> None:
    assert mlw.decode(encode_weights([1, -1, 0, 255, -255]), 5).tolist() == [1, -1, 0, 255, -255]


def test_only_the_wanted_weights_are_returned() -> None:
    assert mlw.decode(encode_weights([3, 2, 1]), 2).tolist() == [3, 2]
    with pytest.raises(NpuFault, match="has only 3 of 4 weights") as caught:
        mlw.decode(encode_weights([3, 2, 1]), 4)
    assert caught.value.kind == "weights"


@pytest.mark.parametrize("seed", range(100))
def test_garbage_is_decoded_or_faults(seed: int) -> None:
    random = np.random.default_rng(seed)
    if seed % 2:
        data = bytearray(mlw_codec.encode(random.integers(-100, 100, 500).tolist()))
        for place in random.integers(0, len(data), 4):
            data[place] ^= 1 << int(random.integers(8))
    else:
        data = bytearray(random.integers(0, 256, 400).astype(np.uint8).tobytes())
    try:
        weights = mlw.decode(bytes(data), 500)
    except NpuFault as fault:
        assert fault.kind == "weights"
    else:
        assert weights.size == 500


def test_an_empty_stream_faults() -> None:
    with pytest.raises(NpuFault):
        mlw.decode(b"", 1)
