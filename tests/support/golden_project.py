"""The golden project: the files rendered from `make_program()`, committed for people to read.

    .venv/bin/python -m tests.support.golden_project    # after a deliberate change of a template

writes tests/golden/plus_one again. Check the difference before you commit it.
"""

import shutil
from pathlib import Path

from ethosgen.board import load_board
from ethosgen.project import Project, render
from tests.support.programs import make_program

PLACE = Path(__file__).parent.parent / "golden" / "plus_one"


def render_golden() -> Project:
    """Render the project of the golden files."""
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
