"""The golden project: what `make_program()` renders to, kept file by file for people to read.

    .venv/bin/python tests/golden_project.py        # after a deliberate change of a template

writes tests/golden/plus_one anew; look at the difference before it is committed.
"""

import shutil
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.project import Project, render
from programs import make_program

PLACE = Path(__file__).parent / "golden" / "plus_one"


def render_golden() -> Project:
    """Render the project that the golden files are of."""
    return render(make_program(), load_board("corstone300"))


def write_golden() -> None:
    """Replace the golden files."""
    files = render_golden().files
    shutil.rmtree(PLACE, ignore_errors=True)
    for path, content in files.items():
        file = PLACE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


if __name__ == "__main__":
    write_golden()
