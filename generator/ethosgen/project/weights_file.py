"""Files of weights apart from the code: their format, which ethosgen_weights.h defines in C.

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
from dataclasses import dataclass, field, replace

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up
from ethosgen.values.status import Status

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
_MAKE = "ethosgen weights build NETWORK --for PROJECT"
_NAME_END = "~%08x"
"""The end of a name that is too long: the CRC-32 of the whole name."""


class WeightsError(InputError):
    """A file of weights that code refuses: the status, and the field of the header."""

    def __init__(self, message: str, status: Status, field: str) -> None:
        super().__init__(message)
        self.status = status
        self.field = field


@dataclass(frozen=True)
class WeightsCode:
    """A network's requirements for a file: struct ethosgen_weights_code of the C.

    `regions` is None if unknown; the digest covers their number, too.
    """

    network: str
    digest: str
    regions: int | None
    alignment: int


@dataclass(frozen=True)
class Weights:
    """The content of a file: the digest in hexadecimal, and the regions in order.

    `network` is the name in the header, see `stored_name`.
    """

    network: str
    digest: str
    regions: tuple[bytes, ...] = field(repr=False)
    revision: int = 0
    golden: int = 0
    """The CRC-32 of the self-test's golden output, 0 without one."""


def stored_name(network: str) -> str:
    """Return a network's name in a header: a long one is cut, with a CRC of the whole."""
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


def read_weights(data: bytes, what: str, codes: Sequence[WeightsCode] = ()) -> Weights:
    """Return the content of a file; WeightsError describes the error in `what`.

    With `codes`, one of them must accept it. The checks are those of ethosgen_weights_check() of
    the C, in its order. Bytes after the file's own length are ignored, as in a slot of flash.
    """
    if len(data) < 2 * len(MAGIC):
        said = f"{what} has only {counted(len(data), 'byte')}: it is truncated"
        raise WeightsError(said, Status.WEIGHTS_TRUNCATED, "magic")
    if data[: len(MAGIC)] != MAGIC:
        said = f"{what} is not a file of weights: it does not begin with '{MAGIC.decode()}'"
        raise WeightsError(said, Status.WEIGHTS_UNKNOWN, "magic")
    version = int.from_bytes(data[4:8], "little")
    if version != FORMAT:
        age = "older" if version < FORMAT else "newer"
        raise WeightsError(
            f"{what} has format {version}, which is {age} than this ethosgen's format {FORMAT}; "
            f"make it with: {_MAKE}",
            Status.WEIGHTS_TOO_OLD if version < FORMAT else Status.WEIGHTS_TOO_NEW,
            "format",
        )
    if len(data) < HEADER_BYTES:
        said = f"{what} is truncated: its header has {counted(HEADER_BYTES, 'byte')}"
        raise WeightsError(said, Status.WEIGHTS_TRUNCATED, "bytes")
    _, _, crc, total, payload_crc, count, revision, golden, digest, name = _HEADER.unpack_from(data)
    if crc != _header_crc(data[:HEADER_BYTES]):
        raise _damaged(f"{what} is damaged: the CRC-32 of its header is wrong", "header_crc")
    if total < HEADER_BYTES:
        raise _damaged(f"{what} is damaged: its header has no right size", "bytes")
    if (network := name.rstrip(b"\0")).translate(None, _NAME_BYTES):
        raise _damaged(f"{what} is damaged: its header has no name in ASCII", "name")
    weights = Weights(network.decode("ascii"), digest.hex(), (), revision, golden)
    fitting = _fitting(weights, count, codes, what) if codes else ()
    if total > len(data):
        said = f"{what} is truncated: it has {len(data):,} of {counted(total, 'byte')}"
        raise WeightsError(said, Status.WEIGHTS_TRUNCATED, "bytes")
    if payload_crc != zlib.crc32(data[HEADER_BYTES:total]):
        raise _damaged(f"{what} is damaged: the CRC-32 of its content is wrong", "content_crc")
    table_end = HEADER_BYTES + _REGION.size * count
    places = list(_REGION.iter_unpack(data[HEADER_BYTES:table_end])) if table_end <= total else []
    if len(places) < count or not _are_apart(places, table_end, total):
        said = f"{what} is damaged: a region is outside the file, or in another one"
        raise _damaged(said, "regions")
    if fitting and any(offset % fitting[0].alignment for offset, _ in places):
        aligned = counted(fitting[0].alignment, "byte")
        said = f"{what} is damaged: a region is not aligned to {aligned}"
        raise _damaged(said, "regions")
    regions = {place: data[place[0] : sum(place)] for place in set(places)}
    return replace(weights, regions=tuple(regions[place] for place in places))


def _fitting(
    weights: Weights, regions: int, codes: Sequence[WeightsCode], what: str
) -> Sequence[WeightsCode]:
    """Return the codes that a file is for; WeightsError tells why there are none."""
    named = [code for code in codes if code.network == weights.network]
    if not named:
        raise WeightsError(
            f"{what} is for a network '{weights.network}', but the code is that of "
            f"{', '.join(code.network for code in codes)}; choose the file of this network",
            Status.WEIGHTS_OTHER_NETWORK,
            "name",
        )
    same = [code for code in named if code.digest == weights.digest]
    if not same:
        raise WeightsError(
            f"{what} is for other code of '{weights.network}': it was made for {weights.digest}, "
            f"but the code is {', '.join(code.digest for code in named)}; make it with: {_MAKE}",
            Status.WEIGHTS_OTHER_CODE,
            "digest",
        )
    fitting = [code for code in same if code.regions in (None, regions)]
    if not fitting:
        raise WeightsError(
            f"{what} has {counted(regions, 'region')}, but the code of '{weights.network}' reads "
            f"{same[0].regions}; make it with: {_MAKE}",
            Status.WEIGHTS_OTHER_CODE,
            "regions",
        )
    return fitting


def _damaged(message: str, field: str) -> WeightsError:
    return WeightsError(message, Status.WEIGHTS_DAMAGED, field)


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
