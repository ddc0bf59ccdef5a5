"""Lets builds of one project take turns: two in one directory would corrupt each other's files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ethosgen.host.locking import lock, try_lock
from ethosgen.values.watch import Watch

_LOCK = Path("build") / ".lock"


@contextmanager
def lock_build(directory: Path, watch: Watch) -> Iterator[None]:
    """Hold a project's build directory for the block; wait, and say so, during another build.

    The system releases it when the process ends, however it ends.
    """
    path = directory / _LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if not try_lock(file):
            watch.say(f"waiting for another build of '{directory}' to end")
            lock(file)
        yield
