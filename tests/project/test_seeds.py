"""The table of the predecessors' capabilities in docs/from_microtvm.md."""

import pytest

from tests.support import seeds
from tests.support.seeds import Capability


def test_the_page_has_the_table() -> None:
    page = seeds.PAGE.read_text()
    assert seeds.with_table(page) == page, seeds.ADVICE


def test_each_capability_is_tried_by_a_test_or_said_to_be_missing() -> None:
    faults = [fault for rows in seeds.SEEDS.values() for row in rows if (fault := row.fault())]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Capability("x", "y"), "'x' has neither a test nor a reason"),
        (Capability("x", "y", "no/test_file.py::test_it"), "there is no tests/no/test_file.py"),
        (Capability("x", "y", "project/test_seeds.py::test_other"), "has no test test_other"),
        (Capability("x", "y", "project/test_seeds.py::Capability"), "has no test Capability"),
    ],
)
def test_what_is_not_tried_is_found(row: Capability, said: str) -> None:
    assert said in row.fault()
