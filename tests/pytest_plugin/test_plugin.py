"""The fixture `ethosgen_verify`, in a pytest of its own."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.support.needs import needs_qemu
from tests.support.small_models import image_net

CASES = """
def test_passes(ethosgen_verify):
    run = ethosgen_verify("net.tflite", board="corstone300", samples=1, max_ram="1MiB", max_ms=1e3)
    assert run.passed and run.outputs

def test_is_too_large(ethosgen_verify):
    ethosgen_verify("net.tflite", board="corstone300", samples=1, max_ram=1000, max_stack=1)

def test_has_no_board(ethosgen_verify):
    ethosgen_verify("net.tflite", board="corstone30")
"""


@needs_qemu
def test_budgets_are_assertions(tmp_path: Path) -> None:
    image_net(tmp_path / "net.tflite")
    (tmp_path / "test_net.py").write_text(CASES)
    known = {entry.value for entry in entry_points(group="pytest11")}
    name = "ethosgen_pytest.plugin"
    more = [] if name in known else ["-p", name]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *more, "-rf"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "budget of RAM: " in done.stdout and "of at most 1,000 B" in done.stdout
    assert "budget of stack: " in done.stdout and "unknown board 'corstone30'" in done.stdout


def test_pytest_starts_without_importing_ethosgen() -> None:
    code = "import sys, ethosgen_pytest.plugin; print([m for m in sys.modules if m == 'ethosgen'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_plugin_is_an_entry_point_of_pytest(pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "pyproject.toml").read_text()
    assert 'pytest11 = { ethosgen = "ethosgen_pytest.plugin" }' in text
