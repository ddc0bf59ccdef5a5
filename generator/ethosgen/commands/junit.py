"""JUnit XML of a run, for the test reports of continuous integration; it fails closed."""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ethosgen.values.errors import cannot_write

if TYPE_CHECKING:
    from ethosgen.commands.junit_suites import Recorded


class JUnitFile:
    """The file of one run, written however the run ends; does nothing without a path.

    It first removes an older file of that name, so that a killed run leaves no file. A run without
    a report, or with an exception, becomes an error.
    """

    def __init__(self, path: Path | None, name: str) -> None:
        self._path = path
        self._name = name
        self._report: Recorded | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                raise cannot_write(self._path, error) from None
        return self

    def record(self, report: "Recorded") -> None:
        """Store the report that the file will contain."""
        self._report = report

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is None:
            return
        from ethosgen.commands.junit_suites import make_suites  # a start does not need it

        suites = make_suites(self._name, self._report, error)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            suites.write(str(self._path))
        except OSError as problem:
            raise cannot_write(self._path, problem) from None
