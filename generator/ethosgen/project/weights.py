"""Weights apart from the code: a network's file, and the digest of the code that can use it."""

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ethosgen.platforms import find_platform, names_of
from ethosgen.project.layout import Layout
from ethosgen.project.weights_file import (
    DIGEST_BYTES,
    HEADER_BYTES,
    SUFFIX,
    Weights,
    stored_name,
    write_weights,
)
from ethosgen.project.words import ALIGNMENT, blob_symbol
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import rounded_up
from ethosgen.values.program import Program

SLOT_UNIT_BYTES = 4096
"""The applications' memory for a file is a multiple of this, the usual unit of erasing flash."""
SLOT_GROWTH = 1.25
"""The factor by which a file may grow before the application must be changed."""

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_IDENTITY = re.compile(r'^#define \w+_(?:BUILD|VERSION) "[^"]*"$', re.MULTILINE)
_LIBRARY_FILES = ("ethosgen_weights.h", "ethosgen_weights.c")


@dataclass(frozen=True)
class WeightsRegion:
    """A region of a file: an array that the C would otherwise define.

    `is_fixed` is whether the code knows its length: the NPU's data may have any.
    """

    symbol: str
    ctype: str
    data: bytes = field(repr=False)
    comment: str
    is_fixed: bool
    alignment: int


def regions_of(program: Program) -> tuple[WeightsRegion, ...]:
    """Return the regions of a network's file, in order."""
    on_npu = {b.name for b in program.plan.blobs if b.part == "commands" or b.parameter}
    blobs = (
        WeightsRegion(
            blob_symbol(program, blob),
            C_TYPES[blob.dtype],
            blob.data + bytes(-len(blob.data) % 4),
            blob.comment or "data of an accelerator",
            blob.name not in on_npu,
            blob.alignment,
        )
        for blob in program.plan.blobs
        if blob.data
    )
    constants = (
        WeightsRegion(c.c_name, c.ctype, c.data, counted(len(c.data), "byte"), True, c.alignment)
        for c in program.constants
    )
    return (*blobs, *constants)


def alignment_of(regions: Sequence[WeightsRegion]) -> int:
    """Return the alignment in bytes that a file needs."""
    return max((ALIGNMENT, *(region.alignment for region in regions)))


def weights_facts(program: Program) -> dict[str, Any]:
    """Return the templates' values for a network whose weights are apart."""
    regions = regions_of(program)
    numbers = {region.symbol: number for number, region in enumerate(regions)}
    size = file_bytes(regions)
    return {
        "weights_regions": regions,
        "weights_numbers": numbers,
        "weights_alignment": alignment_of(regions),
        "weights_name": stored_name(program.name),
        "weights_digest": digest_rows("00" * DIGEST_BYTES),
        "weights_file_bytes": size,
        "slot_bytes": rounded_up(int(size * SLOT_GROWTH), SLOT_UNIT_BYTES),
    }


def digest_rows(digest: str) -> list[str]:
    """Return the lines of a digest in a C initializer."""
    words = [f"0x{digest[i : i + 2]}," for i in range(0, len(digest), 2)]
    return [" ".join(words[i : i + 8]) for i in range(0, len(words), 8)]


def file_bytes(regions: Sequence[WeightsRegion]) -> int:
    """Return the most bytes of a file with these regions."""
    alignment = alignment_of(regions)
    table = rounded_up(HEADER_BYTES + 8 * len(regions), alignment)
    return table + sum(rounded_up(len(region.data), alignment) for region in regions)


def code_digest(program: Program, files: Mapping[str, bytes]) -> str:
    """Return the digest of the code that reads a file: its C without comments, and the layout.

    `files` are the network's C and headers and those that it includes, with a digest of zeros.
    """
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(f"{path}\0{code_text(files[path])}\0".encode())
    for region in regions_of(program):
        size = len(region.data) if region.is_fixed else "any"
        whole.update(f"{region.symbol}\0{region.ctype}\0{size}\0{region.alignment}\0".encode())
    return whole.hexdigest()[: 2 * DIGEST_BYTES]


def code_text(content: bytes) -> str:
    """Return C without comments, on one line for each of its lines that is not empty.

    Text that only names ethosgen's version and the source is not code.
    """
    text = _IDENTITY.sub("", _COMMENT.sub(" ", content.decode()))
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.split())


def weights_files(
    program: Program, files: Mapping[str, bytes], source: Callable[[list[str]], bytes]
) -> dict[str, bytes]:
    """Return a network's file of weights, and its C with the digest of the code.

    `files` are the network's other files, `source` builds the C with a digest's rows.
    """
    name, regions = program.name, regions_of(program)
    kernels = {path: text.encode() for path, text in program.sources.items()}
    code = {p: data for p, data in {**kernels, **files}.items() if p.endswith((".c", ".h"))}
    digest = code_digest(program, code)
    golden = program.golden.crc or 0
    file = Weights(name, digest, tuple(region.data for region in regions), golden=golden)
    return {
        f"{name}.c": source(digest_rows(digest)),
        f"{name}{SUFFIX}": write_weights(file, alignment_of(regions)),
    }


def without(files: Mapping[str, bytes], paths: Collection[str]) -> dict[str, bytes]:
    """Return the other files."""
    return {path: data for path, data in files.items() if path not in paths}


def with_weights(layout: Layout, platform: str, app: str | None = None) -> Layout:
    """Return a platform's layout for weights apart; InputError if the platform has none."""
    if app is not None:
        raise InputError(
            f"--app {app} has its weights in the code; leave out --weights blob, "
            "or --app: the firmware in app/ or src/ then opens the file (docs/weights.md)"
        )
    kind = find_platform(platform)
    if not kind.is_apart:
        *first, last = names_of(lambda known: known.is_apart)
        raise InputError(
            f"--weights blob needs --platform {', '.join(first)} or {last}, not {platform}"
        )
    folder = kind.weights_folder
    files = ("board_weights.c", "board_weights.h") if folder else ()
    return replace(
        layout,
        library={**layout.library, **{file: f"model/{file}" for file in _LIBRARY_FILES}},
        network={**layout.network, "{name}_weights.h": "model/model_weights.h"},
        application={**layout.application, **{f"{folder}/{f}": f"app/{f}" for f in files}},
    )
