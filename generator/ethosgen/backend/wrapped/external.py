"""Sources of an accelerator that are not in its folder, but at a path of the user's.

They are compiled from there and never copied: another may have written them, and their licence is
between the user and them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from ethosgen.backend import ExternalFiles
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
        ),
    )


def find_external(folder: AcceleratorFolder) -> tuple[list[Path], list[Path]]:
    """Return the C files and the folders of headers; InputError says which path to set."""
    external = folder.declaration.external
    if external is None:
        return [], []
    root = _root(folder.name, external)
    sources = [path for pattern in external.sources for path in _found(folder, root, pattern)]
    return list(dict.fromkeys(sources)), [root / one for one in external.include]


def _root(name: str, external: External) -> Path:
    told = os.environ.get(external.option, "")
    needs = f"the accelerator '{name}' needs {external.title}"
    wanted = f"the folder that has {external.marker}"
    if not told:
        raise InputError(f"{needs}: set {external.option} to {wanted}")
    root = Path(told).absolute()
    if not (root / external.marker).is_file():
        raise InputError(f"{needs}, but {external.option}, '{told}', is not {wanted}")
    return root


def _found(folder: AcceleratorFolder, root: Path, pattern: str) -> Iterator[Path]:
    found = sorted(root.glob(pattern))
    if not found:
        line = folder.line("external.sources")
        raise InputError(
            f"'{root}' has no file {pattern}, which '{folder.toml}'"
            f"{f', line {line}' if line else ''}, names; use another version of it"
        )
    yield from found
