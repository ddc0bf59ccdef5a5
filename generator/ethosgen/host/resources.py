"""Folders that come with ethosgen: templates, boards, the Zephyr application."""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def resource_folder(name: str) -> Path:
    """Return the folder `name`: in the package when installed, else at the repository's root."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent.parent / name


def template_folder(name: str) -> Path:
    """Return a folder of templates, such as those of a platform or a backend."""
    return resource_folder("templates") / name


def files_below(path: Path) -> list[Path]:
    """Return a file, or the files below a folder, sorted, without Python's compiled files."""
    paths = [path, *path.rglob("*")]
    return sorted(each for each in paths if each.is_file() and "__pycache__" not in each.parts)
