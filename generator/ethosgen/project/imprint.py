"""A rendered library's facts about itself: its terms, its digest, its bills of materials."""

from collections.abc import Mapping, Sequence
from typing import Any

from ethosgen.applications import find_application
from ethosgen.backend.protocol import OutsideCode, ProjectFiles
from ethosgen.project.cyclonedx import cyclonedx
from ethosgen.project.licences import CYCLONEDX, SPDX, library_licences, licence_notes
from ethosgen.project.manifest import LIBRARY, data_files, digest_of, folder_of
from ethosgen.project.materials import collect
from ethosgen.project.network import DIGEST_LENGTH
from ethosgen.project.spdx import spdx
from ethosgen.project.weights import without
from ethosgen.values.program import Program

NO_DIGEST = "0" * DIGEST_LENGTH
"""Stands in the C until the digest of everything else is known."""


def imprint(
    library: Mapping[str, bytes],
    programs: Sequence[Program],
    facts: Mapping[str, Any],
    driver: ProjectFiles,
    wrapped: Sequence[ProjectFiles],
    app: str | None,
) -> tuple[dict[str, bytes], str]:
    """Return a library with its licences, digest and SBOMs, and the digest.

    The digest covers all but itself, the SBOMs, and files that other weights change.
    """
    notes = licence_notes(programs, [path for files in wrapped for path in files.copies])
    whole = {**library, **library_licences(facts, notes)}
    digest = digest_of(without(whole, data_files(programs)))
    whole |= _with_digest(whole, programs, digest)
    outside = _outside(driver, wrapped, facts["platform"].driver)
    task = find_application(app).title if app and len(programs) == 1 else None
    materials = collect(programs, digest, whole, notes, outside, driver.compilers, task)
    bills = {f"{LIBRARY}/{CYCLONEDX}": cyclonedx(materials), f"{LIBRARY}/{SPDX}": spdx(materials)}
    return {**whole, **bills}, digest


def _with_digest(
    library: Mapping[str, bytes], programs: Sequence[Program], digest: str
) -> dict[str, bytes]:
    """Return the headers that state the library's digest, with the digest."""
    headers = [f"{folder_of(program, programs)}{program.name}.h" for program in programs]
    zeros, own = (f'"{text}"\n'.encode() for text in (NO_DIGEST, digest))
    return {
        path: library[path].replace(zeros, own)
        for path in (f"{LIBRARY}/{header}" for header in ("ethosgen_networks.h", *headers))
        if path in library
    }


def _outside(
    driver: ProjectFiles, wrapped: Sequence[ProjectFiles], variant: str
) -> list[OutsideCode]:
    """Return the code that a build of the library takes from elsewhere."""
    known = [code for code in driver.outside if variant in code.drivers]
    externals = [external for files in wrapped for external in files.external]
    return [*known, *(OutsideCode(external.slug, external.title) for external in externals)]
