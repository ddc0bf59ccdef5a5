"""The element that is blamed when no frame moves any more, from counts of frames."""

from dataclasses import replace

import pytest

from ethosgen.targets.blame import Blame
from ethosgen.targets.session import ElementReport
from ethosgen.values.wiring import HOST, StageEdge, Wiring

NOTHING = ElementReport(*[0] * 14)


def wiring(*ends: tuple[int, int]) -> Wiring:
    """Return three elements with these hand-overs."""
    return Wiring((1, 1, 1), tuple(StageEdge(a, b, (0,), 4) for a, b in ends))


CHAIN = wiring((HOST, 0), (0, 1), (1, 2), (2, HOST))
FORK = wiring((HOST, 0), (0, 1), (0, 2), (1, 2), (2, HOST))
"""The first element sends to two, of which the third also reads what the second sends."""


@pytest.mark.parametrize(
    ("counts", "arrived", "says"),
    [
        ([(3, 3), (3, 3), (3, 3)], 3, "the line from the host dropped frame 3: it did not"),
        ([(4, 4), (3, 3), (3, 3)], 3, "element 'a' dropped frame 3: it did not arrive at 'b'"),
        ([(4, 4), (4, 4), (4, 4)], 3, "element 'c' dropped frame 3: it did not arrive at the h"),
        ([(8, 7), (6, 5), (4, 4)], 4, "element 'b' dropped frame 4: it did not arrive at 'c'"),
        ([(4, 4), (4, 3), (3, 3)], 3, "element 'b' received frame 3 and has not handed it on"),
        ([(5, 4), (3, 2), (2, 2)], 2, "or element 'c' has not given back the room for it"),
        ([(7, 6), (5, 4), (3, 2)], 2, "element 'c' received frame 2 .* or the host has not"),
    ],
)
def test_the_last_that_stopped_is_blamed(
    counts: list[tuple[int, int]], arrived: int, says: str
) -> None:
    reports = [replace(NOTHING, received=came, sent=went) for came, went in counts]
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(Blame("abc", CHAIN).stall(reports, {3: arrived}))


@pytest.mark.parametrize(
    ("counts", "waiting", "says"),
    [
        # The third waits for frame 2 of one of the others; the other one's has arrived.
        ([(5, 4), (4, 4), (2, 2)], 0b01, "element 'b' dropped frame 2: it did not arrive at 'c'"),
        ([(5, 4), (4, 4), (2, 2)], 0b10, "element 'a' dropped frame 2: it did not arrive at 'c'"),
        # The second never got frame 2, so the first's frames fill the third's room.
        ([(5, 4), (2, 2), (2, 2)], 0b01, "element 'a' dropped frame 2: it did not arrive at 'b'"),
        # The second computes forever, while the first waits for room at the third.
        ([(5, 4), (3, 2), (2, 2)], 0b01, "element 'b' received frame 2 and has not handed it on"),
    ],
)
def test_a_join_tells_which_frame_it_misses(
    counts: list[tuple[int, int]], waiting: int, says: str
) -> None:
    reports = [replace(NOTHING, received=came, sent=went) for came, went in counts]
    reports[2] = replace(reports[2], waiting=waiting)
    with pytest.raises(AssertionError, match=f"^{says}"):
        raise AssertionError(Blame("abc", FORK).stall(reports, {4: 2}))
