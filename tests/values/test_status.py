"""The statuses of the firmware, in Python and in C."""

import re

from ethosgen.values.status import Status
from tests import ROOT

HEADER = ROOT / "templates" / "common" / "model" / "ethosgen_status.h"


def test_the_header_has_the_same_statuses() -> None:
    statuses = re.findall(r"^ +(ETHOSGEN_\w+) = (\d+)", HEADER.read_text(), re.MULTILINE)
    assert {name: int(code) for name, code in statuses} == {s.c_name: s.value for s in Status}
