"""The size of an arena in words."""

import pytest

from ethosgen.values.arena import ArenaSize


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (ArenaSize(100, 100), "optimal"),
        (ArenaSize(0, 0), "optimal"),
        (ArenaSize(1012, 1000), "at most 1.2 % above the optimum"),
        (ArenaSize(100_001, 100_000), "at most 0.001 % above the optimum"),
        (ArenaSize(100), ""),
    ],
)
def test_it_says_how_far_the_optimum_can_be(size: ArenaSize, text: str) -> None:
    assert size.text() == text
    assert size.as_json()["is_optimal"] == (text == "optimal")
