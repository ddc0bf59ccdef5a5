"""Build a wheel of the running ethosgen from its files, however it was installed."""

import csv
import hashlib
import io
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from ethosgen.host.demos import DEMO_FILES, DEMO_FOLDER
from ethosgen.host.resources import files_below, resource_folder
from ethosgen.plugins import packages
from ethosgen.values.errors import InputError
from ethosgen.version import __version__

WHEEL_NAME = f"ethosgen-{__version__}-py3-none-any.whl"

_DATA = ("templates", "boards", "accelerators", "zephyr_app", "LICENSES")
"""Folders that are in the package when installed, and next to it in the repository."""
_TIME = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every file, so that equal files produce equal wheels."""
_WHEEL = """\
Wheel-Version: 1.0
Generator: ethosgen
Root-Is-Purelib: true
Tag: py3-none-any
"""


def make_wheel() -> bytes:
    """Return a wheel of this ethosgen; InputError if its dependencies are unknown."""
    files = _package_files()
    info = f"ethosgen-{__version__}.dist-info"
    installed = _distribution()
    for name in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        files[f"{info}/{name}"] = (installed.read_text(name) or "").encode()
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, _TIME)
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _package_files() -> dict[str, bytes]:
    sources = {
        path.relative_to(package.parent): path
        for package in packages()
        for path in files_below(package)
    }
    for name in _DATA:
        folder = resource_folder(name)
        sources |= {Path("ethosgen") / name / p.relative_to(folder): p for p in files_below(folder)}
    demo = resource_folder(DEMO_FOLDER)
    sources |= {Path("ethosgen") / DEMO_FOLDER / name: demo / name for name in DEMO_FILES}
    return {place.as_posix(): path.read_bytes() for place, path in sorted(sources.items())}


def _distribution() -> Distribution:
    try:
        installed = distribution("ethosgen")
    except PackageNotFoundError:
        installed = None
    if installed is None or installed.version != __version__:
        raise InputError(
            "--with-ci cannot make a wheel of this ethosgen, which is not installed; name what the "
            "workflow installs with --ci-ethosgen, for example --ci-ethosgen git+https://ADDRESS"
        )
    return installed


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    """Return the table of all files; names may have commas, and its own line has no digest."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows((path, f"sha256={_digest(data)}", len(data)) for path, data in files.items())
    writer.writerow((own, "", ""))
    return table.getvalue().encode()


def _digest(data: bytes) -> str:
    return urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
