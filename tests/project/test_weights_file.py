"""The format of files of weights, from its bytes."""

import struct
import zlib
from dataclasses import replace

import pytest

from ethosgen.project.weights_file import (
    FORMAT,
    HEADER_BYTES,
    NAME_BYTES,
    Weights,
    read_weights,
    stored_name,
    write_weights,
)
from ethosgen.values.errors import InputError

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
    first, other = ("a" * 60 + end for end in "xy")
    assert stored_name("a" * NAME_BYTES) == "a" * NAME_BYTES
    assert len(stored_name(first)) == NAME_BYTES
    assert stored_name(first) != stored_name(other)
    long = replace(WEIGHTS, network=first)
    assert read_weights(write_weights(long, 16), "it").network == stored_name(first)


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
    for content, words in (
        (b"\xff" * 200, "it is not a file of weights"),
        (data[:4] + struct.pack("<I", FORMAT + 1) + data[8:], "newer than this ethosgen's format"),
        (data[:4] + struct.pack("<I", FORMAT - 1) + data[8:], "older than this ethosgen's format"),
        (damaged(data, 20), "the CRC-32 of its header"),
        (damaged(data, len(data) - 1), "the CRC-32 of its content"),
        (with_crc(outside), "a region is outside"),
    ):
        with pytest.raises(InputError, match=words):
            read_weights(content, "it")


def with_words(data: bytes, *words: tuple[int, int]) -> bytes:
    """Return a file with other 32-bit words at some places, whose CRCs are right."""
    changed = bytearray(data)
    for place, value in words:
        struct.pack_into("<I", changed, place, value)
    total = struct.unpack_from("<I", changed, 12)[0]
    struct.pack_into("<I", changed, 16, zlib.crc32(changed[HEADER_BYTES:total]))
    return with_crc(bytes(changed))


def test_regions_that_share_bytes_are_refused_before_they_are_copied() -> None:
    data = write_weights(WEIGHTS, 16)
    first = struct.unpack_from("<I", data, HEADER_BYTES)[0]
    whole = len(data) - first
    assert read_weights(with_words(data, (HEADER_BYTES, first)), "it") == WEIGHTS
    for words in (
        ((HEADER_BYTES + 4, whole),),  # the first reaches over the second
        ((HEADER_BYTES, 0),),  # in the header
        ((HEADER_BYTES, HEADER_BYTES),),  # in the table
        ((HEADER_BYTES + 8, 0xFFFFFFF0), (HEADER_BYTES + 12, 0x20)),
    ):
        with pytest.raises(InputError, match="a region is outside the file, or in another one"):
            read_weights(with_words(data, *words), "it")
    regions = read_weights(data, "it").regions
    assert regions[0] is regions[2]


def test_a_header_with_right_crcs_may_still_be_hostile() -> None:
    data = write_weights(replace(WEIGHTS, regions=()), 16)
    short = with_words(data, (12, HEADER_BYTES - 1))
    escape = with_crc(data[:48] + b"net\x1b]0;x\x07".ljust(NAME_BYTES, b"\0") + data[96:])
    inner = with_crc(data[:48] + b"net\0net".ljust(NAME_BYTES, b"\0") + data[96:])
    for hostile in (short, escape, inner):
        with pytest.raises(InputError, match=r"its header has no (right size|name in ASCII)"):
            read_weights(hostile, "it")


@pytest.mark.parametrize("revision", [-1, 1 << 32])
def test_a_revision_that_does_not_fit_is_refused(revision: int) -> None:
    with pytest.raises(InputError, match="from 0 to 4294967295"):
        write_weights(Weights("net", "ab" * 16, (b"x",), revision), 16)
