"""The markers: a test that starts a compiler or QEMU without its marker fails."""

import logging
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ethosgen.host.extras import EXTRAS
from ethosgen.targets import stack_bounds
from ethosgen.targets.stack_bounds import TIGHT
from tests.support import tight_stack
from tests.support.needs import EXTRA_OF, NEEDS, REQUIRED, STARTED, needs_extra, unmet


def start(folder: Path, name: str, *arguments: str) -> None:
    """Start a program with this name that does nothing."""
    program = folder / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    subprocess.run([program, *arguments], check=True)


@pytest.mark.parametrize(
    ("name", "marker"),
    [
        ("arm-none-eabi-gcc", "compiler"),
        ("gcc", "compiler"),
        ("cmake", "compiler"),
        ("qemu-system-arm", "qemu"),
    ],
)
def test_an_unmarked_test_must_not_start_it(
    name: str, marker: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    start(tmp_path, name, "main.c")
    reason = STARTED.unmarked(request.node)
    request.node.add_marker(marker)
    assert STARTED.unmarked(request.node) is None
    assert reason == f"it starts {name} without the marker {marker}"


def test_what_compiles_nothing_needs_no_marker(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    start(tmp_path, "arm-none-eabi-gcc", "-print-file-name=libc.a")
    start(tmp_path, "cmake", "--version")
    start(tmp_path, "vela", "main.c")
    assert STARTED.unmarked(request.node) is None


def test_what_ci_requires_fails_instead_of_being_skipped(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(NEEDS, "browser", ("", lambda: "there is none"))
    request.node.add_marker("browser")
    monkeypatch.setenv(REQUIRED, "qemu")
    assert list(unmet(request.node)) == ["there is none"]
    monkeypatch.setenv(REQUIRED, "qemu,browser")
    with pytest.raises(pytest.fail.Exception, match="there is none"):
        list(unmet(request.node))


def test_a_test_without_its_extra_is_skipped_by_the_extras_name(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = replace(EXTRAS["place"], packages={"no_such_package.at_all": "none"})
    monkeypatch.setitem(EXTRAS, "place", lacking)
    monkeypatch.setitem(EXTRA_OF, "no_such_package.at_all", lacking)
    request.node.add_marker(needs_extra("place"))
    (reason,) = unmet(request.node)
    assert reason.startswith("no_such_package.at_all is missing: install the extra 'place' with: ")


def test_the_bound_of_the_stack_must_be_near(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TIGHT, raising=False)
    tight_stack.require_tight_stack(request.node)
    assert os.environ[TIGHT] == "1"
    request.node.add_marker(pytest.mark.loose_stack("its samples take another path"))
    tight_stack.require_tight_stack(request.node)
    assert TIGHT not in os.environ
    tight_stack.require_looseness(request.node)
    logger = logging.getLogger(stack_bounds.__name__)
    logger.debug("a run")
    with pytest.raises(pytest.fail.Exception, match="is not needed"):
        tight_stack.require_looseness(request.node)
    logger.info("a bound that is far above")
    tight_stack.require_looseness(request.node)
    tight_stack.require_tight_stack(request.node)
    logger.debug("a run of a network that was drawn")
    sometimes = pytest.mark.loose_stack("it draws networks", sometimes=True)
    request.node.add_marker(sometimes, append=False)
    tight_stack.require_looseness(request.node)
    request.node.add_marker(pytest.mark.loose_stack(), append=False)
    with pytest.raises(pytest.fail.Exception, match="needs a reason"):
        tight_stack.require_tight_stack(request.node)
    tight_stack._SEEN.levels.clear()
    tight_stack._PATIENCE.close()
