"""Makes a bound of the stack that is far above what QEMU's runs use an error in all tests.

The marker `loose_stack(reason)` says of a test why its runs do not take the deepest path. If they
do, the marker is an error, too, unless it says `sometimes=True`: the test draws its networks. On a
busy machine a repeated request may interrupt a run, which then uses more; in these tests none is.
"""

import logging
import os
from contextlib import ExitStack

import pytest

from ethosgen.targets import stack_bounds
from ethosgen.targets.stack_bounds import TIGHT
from tests.support.kernel_files import are_counted
from tests.support.patient_session import patient_session

LOOSE = (
    "loose_stack(reason, sometimes=False): its runs on QEMU may use much less stack than the "
    "bound, and why"
)
_MARKER = "loose_stack"
_LOGGER = logging.getLogger(stack_bounds.__name__)


class _Seen(logging.Handler):
    """Notes what this process logs about stacks: each run at DEBUG, bounds far above at INFO."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.levels: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Note the level."""
        self.levels.add(record.levelno)


_SEEN = _Seen()
_PATIENCE = ExitStack()


def require_tight_stack(item: pytest.Item) -> None:
    """Set the switch for a test, its fixtures and the commands that it starts, or clear it."""
    marker = item.get_closest_marker(_MARKER)
    if marker is not None and not marker.args:
        pytest.fail("loose_stack needs a reason", pytrace=False)
    _SEEN.levels.clear()
    _PATIENCE.close()
    if marker is None and not are_counted():  # counters make other frames deeper
        os.environ[TIGHT] = "1"
        _LOGGER.removeHandler(_SEEN)
        _LOGGER.setLevel(logging.NOTSET)
    else:
        os.environ.pop(TIGHT, None)
        _PATIENCE.enter_context(patient_session())
        _LOGGER.addHandler(_SEEN)
        _LOGGER.setLevel(logging.DEBUG)


def require_looseness(item: pytest.Item) -> None:
    """Fail a test that has run whose marker is not needed; runs of other processes are not seen."""
    marker = item.get_closest_marker(_MARKER)
    if marker is None or marker.kwargs.get("sometimes") or are_counted():
        return
    if logging.DEBUG in _SEEN.levels and logging.INFO not in _SEEN.levels:
        pytest.fail("loose_stack is not needed: all runs are near their bounds", pytrace=False)
