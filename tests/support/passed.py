"""The option `--passed=FILE`: leave out the tests that a file names, and add those that pass.

CI runs the tests in the light installation first, then those that did not pass there with every
extra. Only a test that passed is left out: what was skipped, or is in a file that could not be
imported, runs in the second pass, and without the file everything does. After a space instead of
"=", pytest would take a file that exists for one of tests, before it knows the option.
"""

from pathlib import Path

import pytest


class PassedTests:
    """A plugin of pytest for one file of names; only the process that started writes it."""

    def __init__(self, path: Path, is_worker: bool) -> None:
        self._path = path
        self._is_worker = is_worker
        self._known = set(path.read_text().splitlines()) if path.is_file() else set[str]()
        self._passed: set[str] = set()
        self._failed: set[str] = set()

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Leave out what has passed."""
        known = [item for item in items if item.nodeid in self._known]
        if known:
            items[:] = [item for item in items if item.nodeid not in self._known]
            config.hook.pytest_deselected(items=known)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passes, and what fails, if only when its fixtures are taken down."""
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.passed and report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        if not self._is_worker:
            names = self._known | (self._passed - self._failed)
            self._path.write_text("".join(f"{name}\n" for name in sorted(names)))


def add_option(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.addoption(
        "--passed", metavar="FILE", help="leave out the tests in FILE, and add those that pass"
    )


def register(config: pytest.Config) -> None:
    """Follow the option, if it is there."""
    if path := config.getoption("--passed"):
        plugin = PassedTests(config.invocation_params.dir / path, hasattr(config, "workerinput"))
        config.pluginmanager.register(plugin)
