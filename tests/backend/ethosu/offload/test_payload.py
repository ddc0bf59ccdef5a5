"""Driver headers: what is inside comes out, and what is no header is refused."""

import struct

import pytest

from ethosgen.backend.ethosu.payload import strip_header
from ethosgen.values.errors import UnsupportedError

COMMANDS = struct.pack("<5I", 0x10F, 0x4000, 0x1234, 0x2, 0xFFFF0000)
CONFIG, ID = 0x1807, 0x10066001


def cop1(commands: bytes, claimed_words: int | None = None) -> bytes:
    words = len(commands) // 4 if claimed_words is None else claimed_words
    tag = 0x02 | (words >> 16) << 8 | (words & 0xFFFF) << 16
    return b"COP1" + struct.pack("<7I", 0x00100001, CONFIG, ID, 5, 5, 5, tag) + commands


def cop2(commands: bytes) -> bytes:
    """Header, entry, metadata header, metadata, padding to 64 bytes, commands."""
    metadata = b"VEUM" + struct.pack("<III", 0x10000, 20, CONFIG)
    metadata += struct.pack("<IIQ", ID, 2, 0) + b"\xff" * 4
    entry = struct.pack("<III", 1, 4 + len(metadata) + len(commands), len(metadata))
    return b"COP2" + struct.pack("<IQ", 0x10000, 0) + entry + metadata + commands


@pytest.mark.parametrize("payload", [cop1(COMMANDS), cop2(COMMANDS)], ids=["COP1", "COP2"])
def test_commands_and_words_come_out(payload: bytes) -> None:
    inside = strip_header(payload)
    assert (inside.commands, inside.config_word, inside.id_word) == (COMMANDS, CONFIG, ID)


def test_a_length_beyond_16_bits_is_read() -> None:
    commands = bytes(4 * 0x10001)
    assert len(strip_header(cop1(commands)).commands) == len(commands)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "neither COP1 nor COP2"),
        (b"COP3" + bytes(60), "neither COP1 nor COP2"),
        (cop1(COMMANDS, claimed_words=6), "truncated"),
        (cop1(b"")[:20], "truncated"),
        (cop2(COMMANDS)[:30], "truncated"),
        (b"COP1" + struct.pack("<I", 0x77), "action 0x77"),
    ],
)
def test_what_is_no_payload_is_refused(payload: bytes, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        strip_header(payload)
