"""The format of files of weights, from its bytes."""

import struct
import zlib
from dataclasses import replace

import pytest

from ethosgen.values.errors import InputError
from ethosgen.values.weights import (
    FORMAT,
    HEADER_BYTES,
    NAME_BYTES,
    Weights,
    read_weights,
    stored_name,
    write_weights,
)

DIGEST = "00112233445566778899aabbccddeeff"
WEIGHTS = Weights("net", DIGEST, (b"abc", b"0123456789abcdefX", b"abc"), 7)


def with_crc(data: bytes) -> bytes:
    """Return a file whose header was changed, with the right CRC."""
    crc = zlib.crc32(data[:8] + data[12:HEADER_BYTES])
    return data[:8] + struct.pack("<I", crc) + data[12:]


def test_a_file_has_the_documented_layout() -> None:
    data = write_weights(WEIGHTS, 16)
    magic, version, _, total, crc, count, revision, zero = struct.unpack_from("<4s7I", data)
    assert (magic, version, total, count, revision, zero) == (b"EGWB", FORMAT, len(data), 3, 7, 0)
    assert crc == zlib.crc32(data[HEADER_BYTES:])
    assert data == with_crc(data)
    assert data[32:48].hex() == DIGEST
    assert data[48:HEADER_BYTES] == b"net".ljust(NAME_BYTES, b"\0")
    places = [struct.unpack_from("<II", data, HEADER_BYTES + 8 * i) for i in range(count)]
    assert [data[offset : offset + size] for offset, size in places] == list(WEIGHTS.regions)
    assert all(offset % 16 == 0 for offset, _ in places)
    assert places[0] == places[2]  # equal regions share their bytes


@pytest.mark.parametrize("alignment", [16, 64])
def test_what_is_read_is_what_was_written(alignment: int) -> None:
    data = write_weights(WEIGHTS, alignment)
    assert read_weights(data, "it") == WEIGHTS
    assert read_weights(data + b"\xff" * 100, "it") == WEIGHTS  # a slot of flash


def test_a_long_name_is_cut_and_still_its_own() -> None:
    one, other = ("a" * 60 + end for end in "xy")
    assert stored_name("a" * NAME_BYTES) == "a" * NAME_BYTES
    assert len(stored_name(one)) == NAME_BYTES
    assert stored_name(one) != stored_name(other)
    long = replace(WEIGHTS, network=one)
    assert read_weights(write_weights(long, 16), "it").network == stored_name(one)


def damaged(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_each_bit_that_changes_is_found() -> None:
    data = write_weights(WEIGHTS, 16)
    for place in range(len(data)):
        with pytest.raises(InputError):
            read_weights(damaged(data, place), "it")


def test_each_truncation_is_found() -> None:
    data = write_weights(WEIGHTS, 16)
    for size in range(len(data)):
        with pytest.raises(InputError, match="truncated"):
            read_weights(data[:size], "it")


def test_the_causes_have_sentences_of_their_own() -> None:
    data = write_weights(WEIGHTS, 16)
    outside = data[:HEADER_BYTES] + struct.pack("<II", len(data), 1) + data[HEADER_BYTES + 8 :]
    outside = outside[:16] + struct.pack("<I", zlib.crc32(outside[HEADER_BYTES:])) + outside[20:]
    for given, words in (
        (b"\xff" * 200, "it is no file of weights"),
        (data[:4] + struct.pack("<I", FORMAT + 1) + data[8:], "newer than this ethosgen's format"),
        (data[:4] + struct.pack("<I", FORMAT - 1) + data[8:], "older than this ethosgen's format"),
        (damaged(data, 20), "the CRC-32 of its header"),
        (damaged(data, len(data) - 1), "the CRC-32 of its content"),
        (with_crc(outside), "a region is outside"),
    ):
        with pytest.raises(InputError, match=words):
            read_weights(given, "it")
