"""The firmware's memories as the NPU model sees them."""

import numpy as np

from ethosgen.targets.attach.memory import changed_ranges


def ranges(*changed: int, size: int = 1000) -> list[tuple[int, int]]:
    before = np.zeros(size, np.uint8)
    after = before.copy()
    after[list(changed)] = 1
    return list(changed_ranges(before, after))


def test_near_changes_are_one_range() -> None:
    assert ranges() == []
    assert ranges(0, 999) == [(0, 1), (999, 1000)]
    assert ranges(10, 11, 40, 700) == [(10, 41), (700, 701)]
