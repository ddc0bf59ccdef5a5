"""The digest of a project's sources, which the ELF that was built from them carries.

Nothing else shows that a firmware is older than its sources: it runs, and its outputs are correct.
"""

import hashlib
import os
import shlex
import shutil
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile

from ethosgen.values.errors import InputError

_SECTION = ".ethosgen_sources"
_SUFFIXES = frozenset(
    ".c .h .cc .cpp .cxx .hh .hpp .inc .def .s .ld .lds .cmake .in .conf .overlay .dts .dtsi "
    ".yml .yaml".split()
)
_NAMES = ("CMakeLists.txt", "Kconfig")
_WEIGHTS = ".weights"
_BUILT = frozenset(("build", "out", "tmp"))
"""Folders that a build writes, at the top of a project."""
_CACHE = "CMakeCache.txt"

_HEADER = {
    32: struct.Struct("<16sHHIIIIIHHHHHH"),
    64: struct.Struct("<16sHHIQQQIHHHHHH"),
}
"""Elf32_Ehdr and Elf64_Ehdr; the fields used here have the same places in both."""
_ROW = {32: struct.Struct("<10I"), 64: struct.Struct("<IIQQQQIIQQ")}
"""Elf32_Shdr and Elf64_Shdr, likewise."""
_SHOFF, _SHNUM, _SHSTRNDX = 6, 12, 13
_SH_OFFSET, _SH_SIZE = 4, 5
_PROGBITS = 1


@dataclass(frozen=True)
class Digests:
    """The inputs of a firmware's build: its sources, and files of weights in its image."""

    sources: str
    weights: str

    def encode(self) -> bytes:
        """Return the content of the ELF's section."""
        return f"{self.sources} {self.weights}\n".encode("ascii")


def digest_sources(directory: Path) -> Digests:
    """Return the digests of all files in a project that a build may read."""
    files = sorted(_walk(directory))
    weights = [path for path in files if path.suffix == _WEIGHTS]
    return Digests(
        _digest(directory, [path for path in files if path.suffix != _WEIGHTS]),
        _digest(directory, weights),
    )


def stamp(elf: Path, digests: Digests) -> None:
    """Put digests into an ELF, in a section that no memory holds; its time stays the same."""
    section = _find(elf)
    if section == digests.encode():
        return
    data = elf.read_bytes()
    data = (
        data.replace(section, digests.encode())
        if section
        else _with_section(data, digests.encode())
    )
    times, fresh = elf.stat(), elf.with_name(f"{elf.name}.new")
    fresh.write_bytes(data)
    shutil.copymode(elf, fresh)
    os.utime(fresh, ns=(times.st_atime_ns, times.st_mtime_ns))
    fresh.replace(elf)


def require_fresh(elf: Path, directory: Path, on: str, has_weights: bool = False) -> None:
    """Raise InputError if a project's sources have changed since its firmware was built.

    `on` is the target that it was built for; `has_weights` means that its image has the files of
    weights. No source may be newer than an ELF without digests, built by cmake alone or west.
    """
    section = _find(elf)
    if section is None:
        built = elf.stat().st_mtime_ns
        changed = [
            path.relative_to(directory).as_posix()
            for path in _walk(directory)
            if path.stat().st_mtime_ns > built and (has_weights or path.suffix != _WEIGHTS)
        ]
        is_fresh, which = not changed, ", ".join(sorted(changed)[:3])
    else:
        now, then = digest_sources(directory), section.decode("ascii").split()
        is_fresh = now.sources == then[0] and (not has_weights or now.weights == then[-1])
        which = "its sources"
    if not is_fresh:
        raise InputError(
            f"'{elf}' was built before {which} in '{directory}' changed; build it again: ethosgen "
            f"build {shlex.quote(str(directory))} --on {on}"
        )


def _walk(directory: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(directory):
        is_top = Path(place) == directory
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and not (is_top and name in _BUILT)
            and not (Path(place) / name / _CACHE).exists()
        ]
        for name in names:
            path = Path(place) / name
            suffix = path.suffix.lower()
            if suffix in _SUFFIXES or suffix == _WEIGHTS or name.startswith(_NAMES):
                yield path


def _digest(directory: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{content} {path.relative_to(directory).as_posix()}\n".encode())
    return digest.hexdigest()


def _find(elf: Path) -> bytes | None:
    with elf.open("rb") as file:
        section = ELFFile(file).get_section_by_name(_SECTION)
        return None if section is None else bytes(section.data())


def _with_section(data: bytes, content: bytes) -> bytes:
    """Return an ELF with one more section: at the end, with new tables, so nothing else moves."""
    bits = 32 if data[4] == 1 else 64
    header, row = _HEADER[bits], _ROW[bits]
    fields = list(header.unpack_from(data))
    rows = [
        list(row.unpack_from(data, fields[_SHOFF] + number * row.size))
        for number in range(fields[_SHNUM])
    ]
    names = rows[fields[_SHSTRNDX]]
    text = data[names[_SH_OFFSET] :][: names[_SH_SIZE]]
    content_at = len(data)
    names_at = content_at + len(content)
    own = [len(text), _PROGBITS, 0, 0, content_at, len(content), 0, 0, 1, 0]
    text += _SECTION.encode("ascii") + b"\0"
    names[_SH_OFFSET], names[_SH_SIZE] = names_at, len(text)
    padding = bytes(-(names_at + len(text)) % 8)
    fields[_SHOFF] = names_at + len(text) + len(padding)
    fields[_SHNUM] += 1
    table = b"".join(row.pack(*entry) for entry in (*rows, own))
    return header.pack(*fields) + data[header.size :] + content + text + padding + table
