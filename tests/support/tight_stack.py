"""Makes a bound of the stack that is far above what QEMU's runs use an error in tests.

It is one in the files below, all of whose runs were compared; add a file when its runs are. The
marker `loose_stack(reason)` says of a test there why its runs do not take the deepest path.
"""

import os

import pytest

from ethosgen.targets.stack_bounds import TIGHT
from tests import ROOT

LOOSE = "loose_stack(reason): its runs on QEMU may use much less stack than the bound, and why"
FILES = (
    "tests/flow/test_coverage.py",
    "tests/flow/test_cpu_time.py",
    "tests/flow/test_flow.py",
    "tests/proof/",
    "tests/targets/test_cores.py",
)
"""Paths from the root, or starts."""


def require_tight_stack(item: pytest.Item) -> None:
    """Set the switch for a test, its fixtures and the commands that it starts, or clear it."""
    marker = item.get_closest_marker("loose_stack")
    if marker is not None and not marker.args:
        pytest.fail("loose_stack needs a reason", pytrace=False)
    is_tight = item.path.relative_to(ROOT).as_posix().startswith(FILES)
    if is_tight and marker is None:
        os.environ[TIGHT] = "1"
    else:
        os.environ.pop(TIGHT, None)
