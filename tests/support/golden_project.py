"""The golden project: what `make_program()` renders to, committed for people to read.

    .venv/bin/python -m tests.support.golden_project    # after a deliberate change of a template

writes tests/golden/plus_one again. Check the difference before you commit it. Files that every
project copies from templates/ unchanged are not in it: read them there.
"""

import shutil

from ethosgen.board import load_board
from ethosgen.project import Project, render
from tests import ROOT
from tests.support.programs import make_program

PLACE = ROOT / "tests" / "golden" / "plus_one"
REPEATS = {
    "board/qemu.ld": "board.ld with QEMU's addresses",
    "model/sbom.cdx.json": "the manifest's facts, with the versions of what is installed",
    "model/sbom.spdx.json": "the same",
}


def render_golden() -> Project:
    """Render the whole project."""
    return render(make_program(), load_board("corstone300"))


def golden_files() -> dict[str, bytes]:
    """Return the files of the golden project: those that differ from their templates."""
    places = (ROOT / "templates", ROOT / "LICENSES")
    copied = {path.read_bytes() for place in places for path in place.rglob("*") if path.is_file()}
    files = render_golden().files
    return {p: text for p, text in files.items() if text not in copied and p not in REPEATS}


def write_golden() -> None:
    """Replace the golden files."""
    shutil.rmtree(PLACE, ignore_errors=True)
    for path, content in golden_files().items():
        file = PLACE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


if __name__ == "__main__":
    write_golden()
