"""The page of U85's commands and values has them all."""

from tests.corpus import fields


def test_the_page_has_each_command_and_value_or_says_why_not() -> None:
    lines = fields.PAGE.read_text().splitlines()
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines[10:]]
    expected = list(fields.rows({}))
    assert [row[:3] for row in rows if len(row) == 4][-len(expected) :] == [r[:3] for r in expected]


def test_what_vela_does_not_emit_exists() -> None:
    assert fields.NOT_EMITTED.keys() <= {row[:3] for row in fields.rows({})}
