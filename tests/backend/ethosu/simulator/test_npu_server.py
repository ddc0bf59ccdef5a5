"""The NPU's model at the end of a pipe, as native_sim asks for it."""

import io
import struct

import numpy as np

from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.simulator.registers import (
    STATUS_BUS_STATUS,
    STATUS_CMD_END_REACHED,
    STATUS_CMD_PARSE_ERROR,
)
from ethosgen.backend.ethosu.simulator.server import serve

U55 = find_accelerator("ethos-u55-128")
STOP = np.array([0xFFFF0000], "<u4").tobytes()


def dma(source: int, target: int, length: int) -> bytes:
    """Return a stream that copies from region 1 to region 1, as NPU_OP_DMA_START does."""
    words = [
        0x0130 | 1 << 16,  # NPU_SET_DMA0_SRC_REGION
        0x0131 | 1 << 16,  # NPU_SET_DMA0_DST_REGION
        *(0x4030, source),  # NPU_SET_DMA0_SRC
        *(0x4031, target),  # NPU_SET_DMA0_DST
        *(0x4032, length),  # NPU_SET_DMA0_LEN
        0x0010,  # NPU_OP_DMA_START
        0x0011,  # NPU_OP_DMA_WAIT
        0xFFFF0000,  # NPU_OP_STOP
    ]
    return np.array(words, "<u4").tobytes()


def request(
    commands: bytes, base: int, addr: int, content: bytes, config: int = U55.config_word
) -> bytes:
    bases = [0, base, 0, 0, 0, 0, 0, 0]
    ranges = [addr, len(content), *[0] * 14]
    head = struct.pack("<4I24Q", config, len(commands), 1, 0, *bases, *ranges)
    return head + commands + content


def ask(*requests: bytes) -> bytes:
    answers = io.BytesIO()
    serve(io.BytesIO(b"".join(requests)), answers)
    return answers.getvalue()


def test_a_stream_that_ends_at_once_changes_nothing() -> None:
    answer = ask(request(STOP, 0x7FFF_0000_1000, 0x7FFF_0000_1000, bytes(64)))
    assert struct.unpack("<3I", answer) == (STATUS_CMD_END_REACHED, len(STOP), 0)


def test_what_the_npu_wrote_comes_back() -> None:
    content = bytes(range(64))
    answer = ask(request(dma(0, 32, 16), 0x5555_0000_0010, 0x5555_0000_0010, content))
    status, _, is_changed = struct.unpack_from("<3I", answer)
    assert (status, is_changed) == (STATUS_CMD_END_REACHED, 1)
    assert answer[12:] == content[:32] + content[:16] + content[48:]


def test_an_access_outside_is_a_bus_fault() -> None:
    answer = ask(request(dma(0, 4096, 16), 0x10, 0x10, bytes(64)))
    status, _, is_changed = struct.unpack("<3I", answer)
    assert status & STATUS_BUS_STATUS
    assert not is_changed


def test_an_unknown_npu_is_an_answer_and_not_the_end() -> None:
    wrong = request(STOP, 0x1000, 0x1000, bytes(16), config=0x3000_0008)
    answers = ask(wrong, request(STOP, 0x1000, 0x1000, bytes(16)))
    assert struct.unpack("<6I", answers) == (
        *(STATUS_CMD_PARSE_ERROR, 0, 0),
        *(STATUS_CMD_END_REACHED, len(STOP), 0),
    )


def test_an_ethos_u85_is_found_by_its_config() -> None:
    content = bytes(range(64))
    config = find_accelerator("ethos-u85-2048").config_word
    answer = ask(request(dma(0, 32, 16), 0x1010, 0x1010, content, config))
    assert struct.unpack_from("<I", answer) == (STATUS_CMD_END_REACHED,)
    assert answer[12:] == content[:32] + content[:16] + content[48:]


def test_it_serves_until_the_other_side_is_gone() -> None:
    stop = request(STOP, 0x1000, 0x1000, bytes(16))
    assert len(ask(stop, stop, stop[:20])) == 2 * 12
