"""The identities of networks in a built firmware: ELF, raw binary, Intel HEX or S-records.

A library has a string for each network; the network's init function keeps it in the firmware.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ethosgen.values.errors import InputError

APART = "apart"
"""Stands for the digest of a network that is not in the code."""
_STRING = re.compile(rb"ethosgen:([\w.+-]+):(\w+):([0-9a-f]{16}|apart):([0-9a-f]{16})\0")
_ELF = b"\x7fELF"
_RECORDS = re.compile(rb"(?::[0-9A-Fa-f]{10}|S[0-9][0-9A-Fa-f]{4})")


@dataclass(frozen=True)
class Identity:
    """What a firmware says of one of its networks.

    `network` is the start of the SHA-256 of its file, or APART; `build` is the library's digest.
    """

    name: str
    network: str
    build: str
    version: str

    def as_json(self) -> dict[str, str]:
        """Return the values for --json."""
        return {
            "name": self.name,
            "network_digest": self.network,
            "build": self.build,
            "version": self.version,
        }


def find_identities(path: Path) -> tuple[Identity, ...]:
    """Return the identities in a firmware; InputError if it cannot be read or has none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    found = {
        Identity(name.decode(), network.decode(), build.decode(), version.decode())
        for piece in _pieces(path, data)
        for version, name, network, build in _STRING.findall(piece)
    }
    if not found:
        raise InputError(
            f"'{path}' names no network of ethosgen: it was built from a project of an older "
            "ethosgen, calls no network's init function, or is compressed or encrypted"
        )
    return tuple(sorted(found, key=lambda one: (one.name, one.build, one.network, one.version)))


def _pieces(path: Path, data: bytes) -> Iterator[bytes]:
    """Yield the bytes that are in memory when the firmware runs, as far as the format says."""
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
