"""Coverage as a value: sums of several runs, and what is left."""

from ethosgen.commands.coverage_table import coverage_lines
from ethosgen.values.coverage import CodeCoverage, Statement, merged

STATEMENTS = (
    Statement("a.c", "first", 10, 5, (5, 0)),
    Statement("a.c", "first", 11, 0),
    Statement("a.c", "first", 12, 0),
    Statement("a.c", "first", 14, 0, (0, 0)),
    Statement("b.h", "second", 3, 1),
)
COVERAGE = CodeCoverage(STATEMENTS, {"a.c": ("lonely",)})


def test_the_totals_and_what_was_never_reached() -> None:
    assert (COVERAGE.reached, COVERAGE.taken, COVERAGE.branches) == (2, 1, 4)
    assert COVERAGE.text() == "2 of 5 statements (40.0 %), 1 of 4 branches (25.0 %)"
    assert [gap.text() for gap in COVERAGE.unreached] == ["a.c first(): 11-12, 14"]
    assert [gap.text() for gap in COVERAGE.untaken] == ["a.c first(): 10"]
    json = COVERAGE.as_json()
    assert json["unreached"] == [{"file": "a.c", "function": "first", "lines": [11, 12, 14]}]
    assert json["unlinked"] == {"a.c": ["lonely"]}
    assert json["files"]["b.h"] == {"statements": 1, "reached": 1, "branches": 0, "taken": 0}


def test_the_lines_for_people() -> None:
    assert coverage_lines(None) == []
    short = coverage_lines(COVERAGE)
    assert short[0].startswith("  coverage  2 of 5 statements")
    assert [line.strip() for line in short[1:]] == [
        "never reached:",
        "a.c first(): 11-12, 14",
        "not all branches taken:",
        "a.c first(): 10",
        "not counted: 1 function that the linker left out of the firmware",
    ]


def test_counts_of_several_runs_are_added() -> None:
    other = (
        Statement("a.c", "first", 10, 2, (0, 2)),
        Statement("a.c", "first", 14, 1, (1,)),
        Statement("a.c", "first", 9, 1),
    )
    assert merged((*STATEMENTS, *other)) == (
        Statement("a.c", "first", 9, 1),
        Statement("a.c", "first", 10, 7, (5, 2)),
        Statement("a.c", "first", 11, 0),
        Statement("a.c", "first", 12, 0),
        Statement("a.c", "first", 14, 1, (1,)),
        Statement("b.h", "second", 3, 1),
    )


def test_builds_with_other_branches_of_a_line_are_one_statement() -> None:
    """Host and firmware are compiled with other options: the line counts once, as it ran best."""
    host = (Statement("a.c", "f", 7, 0, (0, 0, 0, 0)), Statement("a.c", "f", 8, 0))
    firmware = (Statement("a.c", "f", 7, 3, (1, 2)), Statement("a.c", "f", 8, 2, (2, 0)))
    both = (Statement("a.c", "f", 7, 3, (1, 2)), Statement("a.c", "f", 8, 2, (2, 0)))
    assert merged((*host, *firmware)) == merged((*firmware, *host)) == both
    again = Statement("a.c", "f", 7, 1, (1, 0, 0, 0))
    assert merged((*host, *firmware, again))[0] == Statement("a.c", "f", 7, 4, (1, 2))


def test_c_without_conditions_has_no_branches() -> None:
    text = CodeCoverage((Statement("a.c", "only", 1, 1),), {}).text()
    assert text == "1 of 1 statement (100.0 %), no branches"
