"""Makes a bound of the stack that is far above what QEMU's runs use an error, in each test.

The marker `loose_stack(reason)` says of a test why its runs do not take the deepest path.
"""

import os

import pytest

from ethosgen.targets.stack_bounds import TIGHT

LOOSE = "loose_stack(reason): its runs on QEMU may use much less stack than the bound, and why"


def require_tight_stack(item: pytest.Item) -> None:
    """Set the switch for a test, its fixtures and the commands that it starts, or clear it."""
    marker = item.get_closest_marker("loose_stack")
    if marker is None:
        os.environ[TIGHT] = "1"
        return
    if not marker.args:
        pytest.fail("loose_stack needs a reason", pytrace=False)
    os.environ.pop(TIGHT, None)
