"""The element that is blamed when no frame moves any more, from counts of frames."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ethosgen.targets.elements import ElementFirmware, Elements
from ethosgen.targets.session import ElementReport

NOTHING = ElementReport(*[0] * 13)


@pytest.mark.parametrize(
    ("sent", "counts", "arrived", "says"),
    [
        (4, [(3, 3), (3, 3), (3, 3)], 3, "the line from the host dropped frame 3: it did not"),
        (4, [(4, 4), (3, 3), (3, 3)], 3, "element 'a' dropped frame 3: it did not arrive at 'b'"),
        (4, [(4, 4), (4, 4), (4, 4)], 3, "element 'c' dropped frame 3: it did not arrive at the h"),
        (9, [(8, 7), (6, 5), (4, 4)], 4, "element 'b' dropped frame 4: it did not arrive at 'c'"),
        (4, [(4, 4), (4, 3), (3, 3)], 3, "element 'b' received frame 3 and has not handed it on"),
        (7, [(5, 4), (3, 2), (2, 2)], 2, "or element 'c' has not given back the room for it"),
        (8, [(7, 6), (5, 4), (3, 2)], 2, "element 'c' received frame 2 .* or the host has not"),
    ],
)
def test_the_last_that_stopped_is_blamed(
    sent: int, counts: list[tuple[int, int]], arrived: int, says: str
) -> None:
    nobody: Any = None
    elements = Elements([ElementFirmware(name, nobody, None, None) for name in "abc"], 1, bytes(8))
    elements._feeder = SimpleNamespace(sent=sent)  # type: ignore[assignment]
    elements._collector = SimpleNamespace(received=arrived)  # type: ignore[assignment]
    reports = [replace(NOTHING, received=came, sent=went) for came, went in counts]
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(elements._stall(reports))
