"""Two builds of one project at a time: one after the other, and the second says that it waits."""

import threading
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.flow import build_project
from ethosgen.project import render, write
from ethosgen.toolchain import Built, lock_build
from ethosgen.values.watch import Watch
from tests.support.needs import needs_build
from tests.support.programs import make_program

LIMIT_S = 60.0


@needs_build
def test_a_build_waits_for_another(tmp_path: Path) -> None:
    place = tmp_path / "p"
    write(render(make_program(), load_board("corstone300")), place)
    said: list[str] = []
    builds: list[Built] = []
    waits = threading.Event()

    def announce(text: str) -> None:
        said.append(text)
        if "waiting for another build" in text:
            waits.set()

    def work() -> None:
        builds.append(build_project(place, watch=Watch(announce)))

    with lock_build(place, Watch()):
        thread = threading.Thread(target=work)
        thread.start()
        assert waits.wait(LIMIT_S), said
        assert not (place / "build" / "qemu").exists(), "it has not begun"
    thread.join(LIMIT_S)
    assert builds and builds[0].elf.is_file()
    assert said[0] == f"waiting for another build of '{place}' to end"


def test_nobody_waits_for_a_build_that_has_ended(tmp_path: Path) -> None:
    said: list[str] = []
    for _ in range(2):
        with lock_build(tmp_path, Watch(said.append)):
            pass
    assert said == []
