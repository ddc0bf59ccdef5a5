"""The cache of compiled templates: used in the next process, and never required."""

from pathlib import Path

import jinja2
import pytest

from ethosgen.project.templating import make_environment


@pytest.fixture(autouse=True)
def _fresh() -> None:
    make_environment.cache_clear()


def test_the_next_process_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = make_environment(("common",)).get_template("model/model.c")
    make_environment.cache_clear()
    monkeypatch.setattr(jinja2.Environment, "compile", None)
    second = make_environment(("common",)).get_template("model/model.c")
    assert second.filename == first.filename
    assert list((tmp_path / "ethosgen" / "templates").iterdir())


def test_a_home_without_room_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/cache")
    assert make_environment(("common",)).bytecode_cache is None
