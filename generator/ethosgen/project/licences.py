"""The terms of a project's files: the licences, and REUSE.toml for files without comments."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.frontend import source_of, suffix_of
from ethosgen.host.resources import resource_folder
from ethosgen.project.manifest import LIBRARY, MANIFEST, folder_of
from ethosgen.project.templating import make_environment
from ethosgen.project.weights_file import SUFFIX
from ethosgen.values.program import Program

OURS = "Apache-2.0"
"""The licence of what is copied from ethosgen, or made from its templates."""
NO_CLAIM = "LicenseRef-ethosgen-no-claim"
"""What is the user's, or was derived from it alone."""
CYCLONEDX, SPDX = "sbom.cdx.json", "sbom.spdx.json"
LATER = (MANIFEST.removeprefix(f"{LIBRARY}/"), CYCLONEDX, SPDX)
"""Files of a library that describe its other files."""
AUTHORS = "The ethosgen authors"
_FOLDER = "LICENSES"
_NOTES = "REUSE.toml"
# REUSE-IgnoreStart
_LINE = re.compile(rb"SPDX-License-Identifier: ([\w.-]+)")
# REUSE-IgnoreEnd
_HEAD_BYTES = 400
"""The lines are at the start of a file."""


@dataclass(frozen=True)
class LicenceNote:
    """The terms of files that do not state them; `paths` are below the library."""

    paths: tuple[str, ...]
    holder: str
    licence: str


def licence_notes(programs: Sequence[Program], copies: Iterable[str]) -> tuple[LicenceNote, ...]:
    """Return the notes for a library: of its facts, its networks, and the user's files in it."""
    networks = [
        f"{folder_of(program, programs)}{program.name}{suffix}"
        for program in programs
        for suffix in (suffix_of(source_of(program.plan.network)), *_apart(program))
    ]
    notes = [
        LicenceNote((*LATER, _NOTES), AUTHORS, OURS),
        LicenceNote(tuple(networks), "Whoever holds the rights in the network", NO_CLAIM),
        LicenceNote(tuple(sorted(copies)), "Whoever holds the rights in the accelerator", NO_CLAIM),
    ]
    return tuple(note for note in notes if note.paths)


def licence_of(path: str, data: bytes, notes: Sequence[LicenceNote]) -> str | None:
    """Return the identifier of a file's licence, None if nothing states it.

    `path` is below the library; what the file says comes before the notes.
    """
    said = _LINE.search(data[:_HEAD_BYTES])
    if said:
        return said[1].decode()
    return next((note.licence for note in notes if path in note.paths), None)


def library_licences(facts: Mapping[str, Any], notes: Sequence[LicenceNote]) -> dict[str, bytes]:
    """Return the files of a library that state its terms of use."""
    environment = make_environment(("common",))
    texts = {
        "LICENSE": environment.get_template(f"{LIBRARY}/LICENSE").render(facts),
        _NOTES: environment.get_template(f"{LIBRARY}/licences.toml").render(licence_notes=notes),
    }
    return {f"{LIBRARY}/{path}": text.encode() for path, text in texts.items()} | {
        f"{LIBRARY}/{path}": text for path, text in _texts().items()
    }


def application_licences() -> dict[str, bytes]:
    """Return the same for the files outside the library, which then belong to the user."""
    notes = make_environment(("common",)).get_template("licences.toml").render()
    return {_NOTES: notes.encode(), **_texts()}


def _texts() -> dict[str, bytes]:
    folder = resource_folder(_FOLDER)
    files = (f"{licence}.txt" for licence in (OURS, NO_CLAIM))
    return {f"{_FOLDER}/{file}": (folder / file).read_bytes() for file in files}


def _apart(program: Program) -> tuple[str, ...]:
    return (SUFFIX,) if program.plan.apart else ()
