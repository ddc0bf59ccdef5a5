"""Lines of fields in a TOML file."""

import pytest

from ethosgen.toml.lines import find_line

TEXT = """\
schema = 1
a.b = 2

[cpu]  # the processor
core = "x"
[memories."d tcm"]
size = 1
[[operator]]
call = "one"
[[operator]]
call = "two"
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("schema", 1),
        ("a.b", 2),
        ("a", 2),
        ("cpu.core", 5),
        ("cpu.speed", 4),
        ("operator.0.call", 9),
        ("operator.1.call", 11),
        ("operator.1.cycles", 10),
        ("nothing", None),
    ],
)
def test_the_line_of_a_field_or_of_the_table_that_should_hold_it(
    field: str, line: int | None
) -> None:
    assert find_line(TEXT, field) == line
