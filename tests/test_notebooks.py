"""The notebooks run, and print what they show."""

from pathlib import Path

import pytest

from tests.support.needs import needs_qemu
from tests.support.notebook import NOTEBOOKS, executed, read, texts


@needs_qemu
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_shows(path: Path) -> None:
    shown = read(path)
    assert any(texts(shown))
    assert texts(executed(shown)) == texts(shown), "run python -m tests.support.notebook"


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
