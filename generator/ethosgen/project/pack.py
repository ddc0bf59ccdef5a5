"""The library as a CMSIS pack: its description, and the archive that pack managers install."""

import io
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from ethosgen.board import Board
from ethosgen.platforms import find_platform, names_of
from ethosgen.project.licences import AUTHORS, NO_CLAIM, OURS
from ethosgen.project.manifest import LIBRARY
from ethosgen.values.errors import InputError

_NAME = re.compile(
    r"(?P<vendor>[A-Za-z0-9][\w-]*)::(?P<name>[A-Za-z0-9][\w-]*)"
    r"@(?P<version>(0|[1-9]\d*)\.\d+\.\d+(-[A-Za-z][0-9A-Za-z-]*(\.[A-Za-z][0-9A-Za-z-]*)*)?)",
    re.ASCII,
)
"""As CMSIS-Toolbox writes them; a component's version has no build (+) in the PACK schema."""
_TEMPLATE = "model/pack.pdsc"
_MOST_LETTERS = 32
"""Of a component's name, by the schema."""
_TIME = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every file, so that equal libraries become equal packs."""
_APPLICATIONS = ("ethosgen_networks.c", "ethosgen_networks.h")
"""Files of the library that only ethosgen's own application needs."""
# REUSE-IgnoreStart
_TERMS = f"""\
SPDX-FileCopyrightText: {AUTHORS}
SPDX-License-Identifier: {OURS} AND {NO_CLAIM}
"""
# REUSE-IgnoreEnd
"""Of the archive, which has the network and our code, in a file beside it."""


@dataclass(frozen=True)
class CmsisPack:
    """The name of a pack."""

    vendor: str
    name: str
    version: str

    @property
    def description_file(self) -> str:
        """The name of the description; pack managers expect this form."""
        return f"{self.vendor}.{self.name}.pdsc"

    @property
    def archive_file(self) -> str:
        """The name of the archive."""
        return f"{self.vendor}.{self.name}.{self.version}.pack"

    @property
    def paths(self) -> tuple[str, str, str]:
        """The files of a pack in a project: description, archive, and the archive's terms."""
        archive = f"{LIBRARY}/{self.archive_file}"
        return f"{LIBRARY}/{self.description_file}", archive, f"{archive}.license"


def parse_pack(text: str, platform: str) -> CmsisPack:
    """Read VENDOR::NAME@VERSION; InputError for another form, or for another platform."""
    if not find_platform(platform).takes_packs:
        able = " or ".join(names_of(lambda platform: platform.takes_packs))
        raise InputError(
            f"--pack is for --platform {able}, not {platform}; choose it, or leave out --pack"
        )
    match = _NAME.fullmatch(text)
    if match is None:
        raise InputError(
            f"--pack '{text}' is not the name of a CMSIS pack; write VENDOR::NAME@VERSION, for "
            "example Acme::Digits@1.0.0, with letters, digits, - and _ in both names"
        )
    return CmsisPack(match["vendor"], match["name"], match["version"])


def pack_files(
    pack: CmsisPack,
    environment: jinja2.Environment,
    board: Board,
    library: Mapping[str, bytes],
    facts: Mapping[str, Any],
) -> dict[str, bytes]:
    """Return the description and the archive of a library, by their paths in the project.

    `library` has no manifest yet: the manifest contains the archive's digest.
    """
    inside = {path.removeprefix(f"{LIBRARY}/"): data for path, data in library.items()}
    values = {
        "pack": pack,
        "component": facts["project"][:_MOST_LETTERS],
        "core": _core(board),
        "headers": _headers(inside),
        "component_sources": _sources(facts["sources"]),
        "drivers": _drivers(inside),
    }
    description = environment.get_template(_TEMPLATE).render({**facts, **values}).encode()
    inside[pack.description_file] = description
    return dict(zip(pack.paths, (description, _archive(inside), _TERMS.encode()), strict=True))


def _core(board: Board) -> str:
    """Return the core as the schema names it: Cortex-M0+, Cortex-M55."""
    kind = board.cpu.core.removeprefix("cortex-m").replace("plus", "+")
    return f"Cortex-M{kind.upper()}"


def _headers(paths: Iterable[str]) -> list[str]:
    return sorted(p for p in paths if p.endswith((".h", ".hpp")) and p not in _APPLICATIONS)


def _sources(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path not in _APPLICATIONS]


def _drivers(paths: Iterable[str]) -> list[str]:
    """Return the NPU's drivers that the project's user can choose; none without an NPU."""
    known = ("ethosgen_npu_direct.c", "ethosgen_npu_core.c")
    return [driver for driver in known if driver in paths]


def _archive(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            entry = zipfile.ZipInfo(path, _TIME)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
