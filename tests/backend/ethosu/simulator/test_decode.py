"""Decoding: faults with offset and name."""

import numpy as np
import pytest

from ethosgen.backend.ethosu.simulator.decode import decode
from ethosgen.values.errors import NpuFault


def stream(*words: int) -> bytes:
    return np.array(words, "<u4").tobytes()


@pytest.mark.parametrize(
    "word",
    [
        0x00000004,  # code 4 of CMD0 is free
        0x00004007,  # code 7 of CMD1 is free
        0x00008000,  # control 2 does not exist
        0x00000400,  # bit 10 is reserved
    ],
)
def test_an_unknown_word_is_a_parse_fault_at_its_offset(word: int) -> None:
    with pytest.raises(NpuFault, match=f"0x{word:08x} is not a command") as caught:
        list(decode(stream(0x00000002, word)))
    assert (caught.value.kind, caught.value.offset) == ("parse", 4)


def test_a_truncated_command_is_named() -> None:
    with pytest.raises(NpuFault, match="ends before the payload") as caught:
        list(decode(stream(0x00000002, 0x00264024)))
    assert (caught.value.offset, caught.value.command) == (4, "NPU_SET_OFM_SCALE")


def test_a_length_that_is_no_multiple_of_words_is_a_fault() -> None:
    with pytest.raises(NpuFault, match="not a multiple of 4"):
        list(decode(b"\0" * 6))
