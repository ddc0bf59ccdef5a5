"""sdist and wheel: complete, without caches, and the same bytes wherever they are built."""

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from ethosgen import __version__
from ethosgen.host.demos import DEMO_FILES
from ethosgen.project.manifest import FORMAT
from ethosgen.project.wheel import WHEEL_NAME, make_wheel
from tests import ROOT

FOLDERS = ("templates", "boards", "accelerators", "zephyr_app", "LICENSES")
"""Folders of the repository that are in the package."""
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", "build"}


def build(folder: Path, place: Path) -> None:
    """Build sdist and wheel of a folder as `python -m build --no-isolation` does."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(place)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env={"PATH": "/usr/bin"})


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist and the wheel of this repository."""
    place = tmp_path_factory.mktemp("built")
    build(ROOT, place)
    return place


def unpack(built: Path, place: Path) -> Path:
    """Unpack the sdist; return its only folder."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    (folder,) = place.iterdir()
    return folder


def names_in(built: Path) -> set[str]:
    with zipfile.ZipFile(built / WHEEL_NAME) as wheel:
        return set(wheel.namelist())


def files_below(folder: Path) -> list[Path]:
    """Return the files below a folder that are no caches, relative to it."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if not CACHES & set(path.parts)]


@pytest.mark.slow
def test_the_sdist_alone_gives_the_same_bytes_elsewhere(built: Path, tmp_path: Path) -> None:
    folder = unpack(built, tmp_path / "elsewhere")
    (folder / "README.md").touch()
    folder.chmod(0o700)
    build(folder, tmp_path / "again")
    names = sorted(path.name for path in built.iterdir())
    assert len(names) == 2
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == names
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == (built / name).read_bytes(), name


@pytest.mark.slow
def test_the_sdist_has_sources_tests_and_documents(built: Path, tmp_path: Path) -> None:
    folder = unpack(built, tmp_path)
    for name in ("generator", "tests", "docs", "evidence", "demo", "bench", "tools", *FOLDERS):
        wanted = {path.as_posix() for path in files_below(ROOT / name)}
        assert wanted, name
        missing = wanted - {path.as_posix() for path in files_below(folder / name)}
        assert not missing, f"{name}: {sorted(missing)[:5]}"
    assert all((folder / name).is_file() for name in ("CHANGELOG.md", "LICENSE", "Makefile"))


@pytest.mark.slow
def test_the_wheel_has_all_that_commands_read(built: Path) -> None:
    names = names_in(built)
    package = {path.as_posix() for path in files_below(ROOT / "generator")}
    tops = {path.partition("/")[0] for path in package}
    assert "ethosgen" in tops and len(tops) > 1
    data = {
        f"ethosgen/{folder}/{path.as_posix()}"
        for folder in FOLDERS
        for path in files_below(ROOT / folder)
    }
    demos = {f"ethosgen/demo/{name}" for name in DEMO_FILES}
    assert len(package) > 500 and len(data) > 300
    assert "ethosgen/templates/report/report.html" in data
    version = WHEEL_NAME.split("-")[1]
    info = f"ethosgen-{version}.dist-info"
    about = {
        f"{info}/{name}"
        for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    assert names == package | data | demos | about


@pytest.mark.slow
def test_the_wheel_that_projects_store_has_the_same_files(built: Path, tmp_path: Path) -> None:
    (tmp_path / WHEEL_NAME).write_bytes(make_wheel())
    stored = names_in(tmp_path)
    assert stored == names_in(built)
    assert not [name for name in stored if CACHES & set(PurePosixPath(name).parts)]


def test_the_version_is_one() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["version"] == __version__


def test_the_release_script_finds_one_version_and_refuses_what_is_unready() -> None:
    def release(*options: str) -> "subprocess.CompletedProcess[str]":
        command = [str(ROOT / "tools" / "release.sh"), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    ready = release("--check")
    assert (ready.returncode, ready.stdout) == (0, f"release: {__version__}\n")
    unready = release()
    assert unready.returncode == 1 and "Unreleased of CHANGELOG.md" in unready.stderr
    assert release("--sign").returncode == 1


def test_the_changelog_states_the_manifest_format() -> None:
    newest = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1]
    assert newest.startswith("[Unreleased]") or newest.startswith(f"[{__version__}]")
    assert f"manifests of format {FORMAT}." in newest


def test_the_package_names_the_demo_files() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    demos = {source: place for source, place in included.items() if source.startswith("demo/")}
    assert demos == {f"demo/{name}": f"ethosgen/demo/{name}" for name in DEMO_FILES}
