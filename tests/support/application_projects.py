"""Projects with an application: created, built, and run on QEMU."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ethosgen.flow import Feed, build_project, create_project, run_app
from ethosgen.values.application import ApplicationReport
from ethosgen.values.watch import Watch
from tests.support.recipes import recipe


def create(
    directory: Path,
    networks: Sequence[tuple[str, bytes]],
    app: str,
    platform: str = "baremetal",
    build: bool = True,
    labels: Path | None = None,
) -> Path:
    """Write networks (name and content) beside a project of them with an application; build it."""
    paths = []
    for name, content in networks:
        paths.append(directory / f"{name}.tflite")
        paths[-1].write_bytes(content)
    place = directory / f"{app}_{platform}"
    wanted = recipe(*paths, platform=platform, app=app, labels=labels, check=False)
    create_project(wanted, directory=place, watch=Watch())
    if build:
        build_project(place, watch=Watch())
    return place


@contextmanager
def edited(place: Path, file: str, old: str, new: str) -> Iterator[None]:
    """Build the application with another text in a file of it; restore it at the end."""
    path = place / "application" / file
    before = path.read_text()
    assert old in before
    path.write_text(before.replace(old, new))
    try:
        build_project(place, watch=Watch())
        yield
    finally:
        path.write_text(before)
        build_project(place, watch=Watch())


def run(place: Path, *files: Path, seed: int = 0) -> ApplicationReport:
    """Run the application on files, or on a drawn input."""
    return run_app(place, feed=Feed(files, seed), watch=Watch())
