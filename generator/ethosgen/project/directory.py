"""Projects on disk: written in one step; generating again does not touch the user's files."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ethosgen.project.ci import is_ci
from ethosgen.project.info import ProjectInfo
from ethosgen.project.manifest import LIBRARY, MANIFEST, Project, open_project
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.errors import InputError, cannot_write


def write(project: Project, directory: Path) -> frozenset[str]:
    """Write a project, or replace an existing one's library; return the written files.

    Files for continuous integration are added to a project that has none. Everything is staged next
    to its place and moved there at the end. InputError, and no change, if the directory is not a
    project, if it is a project of other networks, board, platform or I/O style, or if a file of its
    library was edited.
    """
    try:
        info = require_writable(project, directory)
        if info is None:
            _write_new(project, directory)
            return frozenset(project.files)
        added = _add_ci(project, directory)
        if _is_up_to_date(project, info):
            return added
        _replace_library(project, directory)
        return project.library | added
    except OSError as error:
        raise cannot_write(directory, error) from None


def require_writable(project: Project, directory: Path) -> ProjectInfo | None:
    """Return the project whose library would be replaced, None for a new one.

    InputError if write() would refuse.
    """
    if _is_new(directory):
        return None
    if not directory.is_dir() or not (directory / MANIFEST).is_file():
        raise InputError(
            f"'{directory}' exists and is not an ethosgen project; choose another with -o"
        )
    info = open_project(directory)
    _check_same(project, info)
    _check_unedited(info)
    return info


def _is_new(directory: Path) -> bool:
    if not directory.exists() and not directory.is_symlink():
        return True
    return directory.is_dir() and not any(directory.iterdir())


def _write_new(project: Project, directory: Path) -> None:
    place = directory.absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    stage = _stage(project, project.files, place.parent)
    try:
        if place.exists():
            # The directory may be someone's working directory: fill it, do not replace it.
            _move_all(stage, place)
        else:
            stage.rename(place)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _move_all(stage: Path, place: Path) -> None:
    moved: list[Path] = []
    try:
        for entry in sorted(stage.iterdir()):
            moved.append(entry.rename(place / entry.name))
    except OSError:
        for entry in moved:
            with suppress(OSError):
                entry.rename(stage / entry.name)
        raise


def _add_ci(project: Project, directory: Path) -> frozenset[str]:
    """Write the missing files of --with-ci and return them."""
    missing = frozenset(
        path for path in project.files if is_ci(path) and not (directory / path).exists()
    )
    stage = _stage(project, missing, directory.absolute())
    try:
        for path in missing:
            place = directory / path
            place.parent.mkdir(parents=True, exist_ok=True)
            (stage / path).rename(place)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return missing


def _replace_library(project: Project, directory: Path) -> None:
    place = directory.absolute() / LIBRARY
    stage = _stage(project, project.library, directory.absolute())
    retired = stage / "retired"
    try:
        place.rename(retired)
        try:
            (stage / LIBRARY).rename(place)
        except OSError:
            retired.rename(place)
            raise
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _stage(project: Project, paths: Iterable[str], parent: Path) -> Path:
    stage = Path(tempfile.mkdtemp(prefix=".ethosgen-", dir=parent))
    try:
        for path in paths:
            file = stage / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(project.files[path])
        stage.chmod(0o777 & ~_umask())  # mkdtemp's folders are private to one user
    except OSError:
        shutil.rmtree(stage, ignore_errors=True)
        raise
    return stage


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_same(project: Project, info: ProjectInfo) -> None:
    for what, new, old in (
        (_named(info.names), ", ".join(project.names), ", ".join(info.names)),
        ("board", project.board, info.board.name),
        ("--platform", project.platform, info.platform),
        ("--security", project.security, info.board.security),
        ("--io", project.io.value, info.io.value),
        ("--memory-mode", project.memory_mode, info.memory_mode),
        ("--app", project.app or "none", info.app or "none"),
        ("--weights", "blob" if project.apart else "code", "blob" if info.is_apart else "code"),
        *([("--npu", project.npu, info.npu)] if NO_NPU in (project.npu, info.npu) else []),
    ):
        if new != old:
            raise InputError(
                f"'{info.directory}' was generated with {what} '{old}', and its application "
                f"depends on that; for '{new}' choose another directory with -o"
            )


def _named(names: tuple[str, ...]) -> str:
    return "name" if len(names) == 1 else "the networks"


def find_edits(info: ProjectInfo) -> dict[str, str]:
    """Return the files of the library that differ from the written ones, by path.

    Each is "added", "edited" or "missing".
    """
    try:
        edits = {path: "missing" for path in info.files if not (info.directory / path).is_file()}
        for path in _library_files(info):
            name = path.relative_to(info.directory).as_posix()
            if name not in info.files:
                edits[name] = "added"
            elif name not in edits and _sha256(path) != info.files[name]:
                edits[name] = "edited"
    except OSError as error:
        raise InputError(f"cannot read '{error.filename}': {error.strerror}") from None
    return dict(sorted(edits.items()))


def _library_files(info: ProjectInfo) -> Iterator[Path]:
    """Yield every file in the library's folder except the manifest."""
    for path in sorted((info.directory / LIBRARY).rglob("*")):
        is_folder = path.is_dir() and not path.is_symlink()
        if not is_folder and path != info.directory / MANIFEST:
            yield path


def _check_unedited(info: ProjectInfo) -> None:
    for name, what in find_edits(info).items():
        path = info.directory / name
        if what == "added":
            raise InputError(
                f"'{path}' is not ethosgen's, and generating again replaces {LIBRARY}/; "
                "move it elsewhere, for example to app/"
            )
        if what == "edited":
            raise InputError(
                f"'{path}' was edited, and generating again would lose that; move the change out "
                f"of {LIBRARY}/, or delete the file"
            )


def _is_up_to_date(project: Project, info: ProjectInfo) -> bool:
    if info.digest != project.digest:
        return False
    digests = {
        p: hashlib.sha256(project.files[p]).hexdigest() for p in project.library - {MANIFEST}
    }
    complete = all((info.directory / path).is_file() for path in info.files)
    return complete and dict(info.files) == digests


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
