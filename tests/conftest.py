"""Skips tests whose needs are not met, and prints the new seeds at the end."""

import gc
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # each worker has one processor; numpy reads it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("ETHOSGEN_NO_CACHE", "1")  # each test converts its networks

from ethosgen.aot.host import llvm
from ethosgen.aot.tir.lowering import UNOPTIMIZED
from tests import ROOT
from tests.support import choice
from tests.support.fork_server import shared_server, use_fork_server
from tests.support.modules import import_share, is_left_out, lacking
from tests.support.needs import NEEDS, STARTED, unmet
from tests.support.object_cache import use_object_cache
from tests.support.passed import add_option, register
from tests.support.reruns import hasten
from tests.support.tight_stack import LOOSE, require_looseness, require_tight_stack


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of CI."""
    add_option(parser)
    choice.add_options(parser)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Hasten what comes between two tests; pytest-rerunfailures has connected by now."""
    hasten(session.config)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect without looking for garbage: what is imported stays, and is never looked at again."""
    gc.disable()
    try:
        import_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of which the options run nothing, before they are imported."""
    return is_left_out(config, collection_path) or None


@pytest.hookimpl(trylast=True)  # files and names that were asked for are chosen before
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose parts of the suite by the options."""
    choice.choose(config, items)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers; find the library that `make environments` unpacks."""
    register(config)
    use_object_cache()
    if (ROOT / ".acl" / "usr").is_dir():
        os.environ.setdefault("ARM_COMPUTE_PATH", str(ROOT / ".acl" / "usr"))
    config.addinivalue_line("markers", "slow: takes long even without a compiler or QEMU")
    config.addinivalue_line("markers", LOOSE)
    for name, (what, _) in NEEDS.items():
        config.addinivalue_line("markers", f"{name}: {what}")


class TestModule(pytest.Module):
    """A file of tests; it is skipped if it imports a package of an extra that is not installed."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Import the file and return its tests."""
        if extra := lacking(self.path):
            pytest.skip(extra, allow_module_level=True)
        return super().collect()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Collect every file as a TestModule."""
    module: pytest.Module = TestModule.from_parent(parent, path=module_path)
    return module


@pytest.fixture(scope="session", autouse=True)
def quick_kernels() -> None:
    """Compile kernels for this machine without optimization: each runs only briefly."""
    llvm.TARGET = UNOPTIMIZED


@pytest.fixture(scope="session", autouse=True)
def children() -> Iterator[None]:
    """Fork the children of Vela, oracles and environments: imports take most of their time."""
    use_fork_server(shared_server())
    yield
    shared_server().close()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that lacks something, before its fixtures are made."""
    STARTED.names.clear()
    for reason in unmet(item):
        pytest.skip(reason)
    require_tight_stack(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that starts a compiler or QEMU, or whose fixtures do, but is not marked."""
    yield
    if reason := STARTED.unmarked(item):
        pytest.fail(reason, pytrace=False)
    require_looseness(item)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the seeds from all processes."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    seeds = [v for r in reports for name, v in r.user_properties if name == "random networks"]
    if seeds:
        terminalreporter.write_line(f"random networks from seeds {', '.join(map(str, seeds))}")
