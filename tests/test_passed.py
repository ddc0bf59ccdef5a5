"""`--passed=FILE`: what passed in one run is left out of the next, and nothing else is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

CONFTEST = """
from tests.support.passed import add_option as pytest_addoption
from tests.support.passed import register as pytest_configure
"""
TESTS = """
import os, pytest

has_extra = "EXTRA" in os.environ

@pytest.fixture
def broken():
    yield
    assert has_extra

def test_light(): pass
@pytest.mark.parametrize("n", [0, 1])
def test_skipped(n):
    if n and not has_extra:
        pytest.skip("an extra is missing")
def test_failed(): assert has_extra
def test_failed_at_its_end(broken): pass
@pytest.mark.xfail
def test_expected_to_fail(): assert False
"""
MODULE = """
import os, pytest

if "EXTRA" not in os.environ:
    pytest.skip("an extra is missing", allow_module_level=True)

def test_of_the_module(): pass
"""


LEAN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Other plug-ins take most of the time of so short a run."""


def run(place: Path, *options: str, **variables: str) -> str:
    """Run the tests and return their names with their outcomes."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-p",
        "no:cacheprovider",
        "-p",
        "xdist",
        *options,
    ]
    command += [f"--passed={place / 'passed.txt'}"]
    done = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, **LEAN, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return done.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    (tmp_path / "tests" / "test_module.py").write_text(MODULE)
    return tmp_path


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_second_run_has_what_did_not_pass_in_the_first(
    place: Path, options: tuple[str, ...]
) -> None:
    assert "1 failed" in run(place, *options)
    names = (place / "passed.txt").read_text().split()
    assert names == ["tests/test_some.py::test_light", "tests/test_some.py::test_skipped[0]"]
    second = run(place, *options, EXTRA="1")
    for name in ("light", "skipped[0]"):
        assert f"::test_{name}" not in second
    for name in ("skipped[1]", "failed", "failed_at_its_end", "of_the_module"):
        assert f"::test_{name}\n" in second
    assert "XFAIL tests/test_some.py::test_expected_to_fail" in second
    assert "4 passed" in second and "1 xfailed" in second and "failed," not in second
    assert len((place / "passed.txt").read_text().split()) == 6


def test_an_empty_file_leaves_nothing_out(place: Path) -> None:
    (place / "passed.txt").touch()
    assert "6 passed" in run(place, EXTRA="1")
