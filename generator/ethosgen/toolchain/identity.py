"""The identities of networks in a built firmware: ELF, raw binary, Intel HEX or S-records.

A library has a string for each network; the network's init function keeps it in the firmware. Code
whose weights are apart also has the values to compare with a file's header, an
ethosgen_weights_code.
"""

import io
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.project.weights_file import (
    DIGEST_BYTES,
    HEADER_BYTES,
    MAGIC,
    NAME_BYTES,
    WeightsCode,
    stored_name,
)
from ethosgen.values.errors import InputError

APART = "apart"
"""Stands for the digest of a network that is not in the code."""
_STRING = re.compile(rb"ethosgen:([\w.+-]+):(\w+):([0-9a-f]{16}|apart):([0-9a-f]{16})\0")
_NUMBERS = struct.Struct("<II")
"""The regions and the alignment, behind digest and name."""
_NAME_AT = HEADER_BYTES - NAME_BYTES
_MOST_REGIONS, _ALIGNMENTS = 1 << 16, tuple(1 << bit for bit in range(4, 17))
"""Other numbers are those of a file that is itself in the image, or no numbers at all."""
_ELF = b"\x7fELF"
_RECORDS = re.compile(rb"(?::[0-9A-Fa-f]{10}|S[0-9][0-9A-Fa-f]{4})")


@dataclass(frozen=True)
class Identity:
    """A firmware's facts about one of its networks.

    `network` is the start of the SHA-256 of its file, or APART; `build` is the library's digest.
    `codes` are its code's requirements for a file of weights, usually one, and () unless APART.
    """

    name: str
    network: str
    build: str
    version: str
    codes: tuple[WeightsCode, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the values for --json."""
        return {
            "name": self.name,
            "network_digest": self.network,
            "build": self.build,
            "version": self.version,
            **({"codes": [code.digest for code in self.codes]} if self.codes else {}),
        }


def find_identities(path: Path) -> tuple[Identity, ...]:
    """Return the identities in a firmware; InputError if it cannot be read or has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    pieces = tuple(_pieces(path, data))
    identities = {
        Identity(
            name.decode(),
            network.decode(),
            build.decode(),
            version.decode(),
            _codes(name.decode(), pieces) if network == APART.encode() else (),
        )
        for piece in pieces
        for version, name, network, build in _STRING.findall(piece)
    }
    if not identities:
        raise InputError(
            f"'{path}' names no network of ethosgen: it was built from a project of an older "
            "ethosgen, calls no network's init function, or is compressed or encrypted"
        )
    return tuple(
        sorted(
            identities,
            key=lambda identity: (
                identity.name,
                identity.build,
                identity.network,
                identity.version,
            ),
        )
    )


def _codes(network: str, pieces: Sequence[bytes]) -> tuple[WeightsCode, ...]:
    """Return a network's requirements for its file: digest, name, regions and alignment."""
    name = stored_name(network)
    stored = name.encode().ljust(NAME_BYTES, b"\0")
    codes = set()
    for piece in pieces:
        at = piece.find(stored, DIGEST_BYTES)
        while at >= 0 and at + NAME_BYTES + _NUMBERS.size <= len(piece):
            digest = piece[at - DIGEST_BYTES : at].hex()
            regions, alignment = _NUMBERS.unpack_from(piece, at + NAME_BYTES)
            is_file = piece[: max(0, at - _NAME_AT) + len(MAGIC)].endswith(MAGIC)
            if not is_file and regions <= _MOST_REGIONS and alignment in _ALIGNMENTS:
                codes.add(WeightsCode(name, digest, regions, alignment))
            at = piece.find(stored, at + 1)
    return tuple(sorted(codes, key=lambda code: code.digest))


def _pieces(path: Path, data: bytes) -> Iterator[bytes]:
    """Yield the bytes that are in memory when the firmware runs, if the format tells."""
    if data.startswith(_ELF):
        yield from _sections(path, data)
    elif _RECORDS.match(data):
        yield from _records(path, data)
    else:
        yield data


def _sections(path: Path, data: bytes) -> Iterator[bytes]:
    try:
        elf = ELFFile(io.BytesIO(data))
        if not elf.num_sections():  # their table was stripped
            yield from (segment.data() for segment in elf.iter_segments("PT_LOAD"))
        for section in elf.iter_sections():
            if section["sh_flags"] & SH_FLAGS.SHF_ALLOC and section["sh_type"] != "SHT_NOBITS":
                yield section.data()
    except (ELFError, ValueError, KeyError, OverflowError) as error:
        raise InputError(f"'{path}' is a damaged ELF file: {error}; build it again") from None


def _records(path: Path, data: bytes) -> Iterator[bytes]:
    import bincopy

    image = bincopy.BinFile()
    try:
        image.add(data.decode("ascii"))
    except (bincopy.Error, ValueError) as error:
        raise InputError(f"'{path}' has damaged records: {error}; make it again") from None
    for segment in image.segments:
        yield bytes(segment.data)
