"""Sources of an accelerator at a user's path outside its folder.

They are compiled from there and never copied: someone else may have written them, and licensed them
to the user.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosgen.backend.protocol import ExternalFiles
from ethosgen.backend.wrapped.declaration import External
from ethosgen.backend.wrapped.folder import AcceleratorFolder
from ethosgen.values.errors import InputError


def external_files(folder: AcceleratorFolder) -> tuple[ExternalFiles, ...]:
    """Return the build facts of an accelerator's external sources, () if it has none."""
    external = folder.declaration.external
    if external is None:
        return ()
    return (
        ExternalFiles(
            folder.slug,
            folder.name,
            external.option,
            external.title,
            external.marker,
            tuple(external.sources),
            tuple(external.include),
            tuple(external.libraries),
            external.default,
            external.install,
        ),
    )


@dataclass(frozen=True)
class ExternalCode:
    """External C files, folders of headers, and compiled libraries."""

    sources: Sequence[Path] = ()
    include: Sequence[Path] = ()
    libraries: Sequence[Path] = ()


def find_external(folder: AcceleratorFolder) -> ExternalCode:
    """Return an accelerator's external files; InputError says which path to set."""
    external = folder.declaration.external
    if external is None:
        return ExternalCode()
    root = _root(folder.name, external)
    sources = [path for pattern in external.sources for path in _found(folder, root, pattern)]
    libraries = [path for library in external.libraries for path in _found(folder, root, library)]
    return ExternalCode(
        list(dict.fromkeys(sources)), [root / include for include in external.include], libraries
    )


def _root(name: str, external: External) -> Path:
    folder = os.environ.get(external.option, "") or external.default
    needs = f"the accelerator '{name}' needs {external.title}"
    wanted = f"the folder that has {external.marker}"
    how = f"install it with: {external.install}, or " if external.install else ""
    if not folder:
        raise InputError(f"{needs}: {how}set {external.option} to {wanted}")
    root = Path(folder).absolute()
    if not (root / external.marker).is_file():
        if not os.environ.get(external.option):
            raise InputError(f"{needs}: {how}set {external.option} to {wanted}")
        raise InputError(f"{needs}, but {external.option}, '{folder}', is not {wanted}")
    for file, text in external.version.items():
        if text not in _text_of(root / file):
            raise InputError(
                f"{needs}, but '{root}' has another version: there is no '{text}' in {file}"
            )
    return root


def _text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _found(folder: AcceleratorFolder, root: Path, pattern: str) -> Iterator[Path]:
    paths = sorted(root.glob(pattern))
    if not paths:
        line = folder.line("external")
        raise InputError(
            f"'{root}' has no file {pattern}, which '{folder.toml}'"
            f"{f', line {line}' if line else ''}, names; use another version of it"
        )
    yield from paths
