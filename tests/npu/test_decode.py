"""Decoding: faults with offset and name, and disassembly."""

import numpy as np
import pytest

from ethosgen.errors import NpuFault
from ethosgen.npu.assemble import assemble
from ethosgen.npu.decode import decode, disassemble


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
    with pytest.raises(NpuFault, match=f"0x{word:08x} is no command") as caught:
        list(decode(stream(0x00000002, word)))
    assert (caught.value.kind, caught.value.offset) == ("parse", 4)


def test_a_truncated_command_is_named() -> None:
    with pytest.raises(NpuFault, match="ends before the payload") as caught:
        list(decode(stream(0x00000002, 0x00264024)))
    assert (caught.value.offset, caught.value.command) == (4, "NPU_SET_OFM_SCALE")


def test_a_length_that_is_no_multiple_of_words_is_a_fault() -> None:
    with pytest.raises(NpuFault, match="no multiple of 4"):
        list(decode(b"\0" * 6))


def test_disassembly_names_commands_and_codes() -> None:
    program = assemble(
        [
            ("NPU_SET_OFM_PRECISION", {"activation_type": 1, "round_mode": 2}),
            ("NPU_SET_IFM_BASE0", {"addr": 0x1_0000_0040}),
            ("NPU_OP_ELEMENTWISE", {"elementwise_mode": 63}),
        ]
    )
    lines = [disassemble(instruction) for instruction in decode(program)]
    assert lines[0].split() == [
        "0x000000", "NPU_SET_OFM_PRECISION", "activation_type=SIGNED,",
        "activation_precision=B8,", "activation_format=NHWC,", "scale_mode=PER_CHANNEL,",
        "round_mode=NATURAL",
    ]  # fmt: skip
    assert lines[1].endswith("addr_hi=0x1, addr_lo=0x40")
    assert lines[2].split()[0] == "0x00000c" and lines[2].endswith("elementwise_mode=63?")
