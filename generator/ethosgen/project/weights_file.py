"""Files of weights apart from the code: their format, which ethosgen_weights.h has in C.

A header, a table of regions, the regions. All numbers are 32-bit words, little endian.

| offset | bytes | content |
| ---: | ---: | --- |
| 0 | 4 | "EGWB" |
| 4 | 4 | version of the format |
| 8 | 4 | CRC-32 of the header's other bytes |
| 12 | 4 | bytes of the whole file |
| 16 | 4 | CRC-32 of all behind the header |
| 20 | 4 | number of regions |
| 24 | 4 | revision, a number of the user's |
| 28 | 4 | CRC-32 of the golden output of the self-test, 0 without one |
| 32 | 16 | digest of the code |
| 48 | 48 | the network's name, padded with 0 |
| 96 | 8 each | offset in the file and bytes of each region |

Each region begins at a multiple of the alignment; regions of equal content share their bytes.
"""

import string
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up

MAGIC = b"EGWB"
FORMAT = 1
"""The version that this ethosgen writes and reads, and that the C expects."""
SUFFIX = ".weights"
DIGEST_BYTES = 16
NAME_BYTES = 48
_MOST_REVISION = 0xFFFFFFFF

_HEADER = struct.Struct(f"<4s7I{DIGEST_BYTES}s{NAME_BYTES}s")
HEADER_BYTES = _HEADER.size
_CRC = slice(8, 12)
"""The header's CRC, which is not a part of what it covers."""
_REGION = struct.Struct("<II")
_NAME_BYTES = f"{string.ascii_letters}{string.digits}_~".encode()
"""What a name has: a C identifier, and the mark of a long one. Others might command a terminal."""
_NAME_END = "~%08x"
"""The end of a name that is too long: the CRC-32 of the whole name."""


@dataclass(frozen=True)
class Weights:
    """The content of a file: the digest in hexadecimal, and the regions in order.

    `network` is the name as the header has it, see `stored_name`.
    """

    network: str
    digest: str
    regions: tuple[bytes, ...] = field(repr=False)
    revision: int = 0
    golden: int = 0
    """The CRC-32 of the self-test's golden output, 0 without one."""


def stored_name(network: str) -> str:
    """Return a network's name as a header has it: a long one is cut, with a CRC of the whole."""
    if len(network) <= NAME_BYTES:
        return network
    end = _NAME_END % zlib.crc32(network.encode())
    return network[: NAME_BYTES - len(end)] + end


def write_weights(weights: Weights, alignment: int) -> bytes:
    """Return a file; `alignment` is that of its regions, in bytes.

    InputError for a revision that does not fit.
    """
    if not 0 <= weights.revision <= _MOST_REVISION:
        raise InputError(f"a revision is a number from 0 to {_MOST_REVISION}: {weights.revision}")
    table_end = HEADER_BYTES + _REGION.size * len(weights.regions)
    data, places, known = bytearray(), [], dict[bytes, int]()
    start = rounded_up(table_end, alignment)
    for region in weights.regions:
        if region not in known:
            known[region] = start + len(data)
            data += region + bytes(rounded_up(len(region), alignment) - len(region))
        places.append((known[region], len(region)))
    table = b"".join(_REGION.pack(*place) for place in places)
    payload = table + bytes(start - table_end) + bytes(data)
    header = bytearray(
        _HEADER.pack(
            MAGIC,
            FORMAT,
            0,
            HEADER_BYTES + len(payload),
            zlib.crc32(payload),
            len(weights.regions),
            weights.revision,
            weights.golden,
            bytes.fromhex(weights.digest),
            stored_name(weights.network).encode(),
        )
    )
    header[_CRC] = _header_crc(header).to_bytes(4, "little")
    return bytes(header) + payload


def read_weights(data: bytes, what: str) -> Weights:
    """Return the content of a file; InputError says what is wrong with `what`.

    Bytes behind the file's own length are ignored, as in a slot of flash.
    """
    if len(data) < 2 * len(MAGIC):
        raise InputError(f"{what} has only {counted(len(data), 'byte')}: it is truncated")
    if data[: len(MAGIC)] != MAGIC:
        raise InputError(f"{what} is no file of weights: it does not begin with '{MAGIC.decode()}'")
    version = int.from_bytes(data[4:8], "little")
    if version != FORMAT:
        age = "older" if version < FORMAT else "newer"
        raise InputError(
            f"{what} has format {version}, which is {age} than this ethosgen's format {FORMAT}; "
            "make it with: ethosgen weights build"
        )
    if len(data) < HEADER_BYTES:
        raise InputError(f"{what} is truncated: its header has {counted(HEADER_BYTES, 'byte')}")
    _, _, crc, total, payload_crc, count, revision, golden, digest, name = _HEADER.unpack_from(data)
    if crc != _header_crc(data[:HEADER_BYTES]):
        raise InputError(f"{what} is damaged: the CRC-32 of its header is wrong")
    if total > len(data):
        raise InputError(f"{what} is truncated: it has {len(data):,} of {counted(total, 'byte')}")
    if payload_crc != zlib.crc32(data[HEADER_BYTES:total]):
        raise InputError(f"{what} is damaged: the CRC-32 of its content is wrong")
    if total < HEADER_BYTES or (name := name.rstrip(b"\0")).translate(None, _NAME_BYTES):
        raise InputError(f"{what} is damaged: its header has no right size, or no name in ASCII")
    table_end = HEADER_BYTES + _REGION.size * count
    places = list(_REGION.iter_unpack(data[HEADER_BYTES:table_end])) if table_end <= total else []
    if len(places) < count or not _are_apart(places, table_end, total):
        raise InputError(f"{what} is damaged: a region is outside the file, or in another one")
    regions = {place: data[place[0] : sum(place)] for place in set(places)}
    return Weights(
        name.decode("ascii"),
        digest.hex(),
        tuple(regions[place] for place in places),
        revision,
        golden,
    )


def _are_apart(places: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether regions are in a range, and no two different ones share bytes.

    A small file could otherwise unpack to gigabytes.
    """
    for offset, size in sorted(set(places)):
        if offset < start or offset + size > end:
            return False
        start = offset + size
    return True


def _header_crc(header: bytes | bytearray) -> int:
    return zlib.crc32(header[_CRC.stop :], zlib.crc32(header[: _CRC.start]))
