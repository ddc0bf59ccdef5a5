"""evidence/suites.md is what its records say, and each record is whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.suites.page import PAGE, Record, page, record_of, records, write_record

STORED: dict[str, Any] = {
    "suite": "A suite",
    "version": "1.2",
    "about": "It ran.",
    "measured": "2026-11-27",
    "command": "python -m a.suite",
    "rows": [
        {
            "group": "first",
            "tried": 1200,
            "passed": 1190,
            "refused": {"too wide": 7},
            "different": {"rounds": 3},
        },
        {"group": "second", "tried": 9, "passed": 7, "refused": {"too wide": 2}, "different": {}},
    ],
}


@pytest.fixture
def record() -> Record:
    return record_of(STORED)


def test_the_page_is_what_the_records_say() -> None:
    suites = records()
    assert suites
    assert PAGE.read_text() == page(suites), "run python -m tests.suites.page"


def test_a_page_has_sums_groups_and_reasons(record: Record) -> None:
    lines = page([record]).splitlines()
    assert "| A suite | 1.2 | 1,209 | 1,197 | 9 | 3 | 2026-11-27 |" in lines
    assert "| second | 9 | 7 | 2 | 0 |" in lines
    assert "    python -m a.suite" in lines
    assert lines[lines.index("Refused:") + 2] == "- 9: too wide"
    assert lines[lines.index("Different:") + 2] == "- 3: rounds"


def test_a_record_returns_from_its_file(record: Record, tmp_path: Path) -> None:
    write_record(tmp_path / "record.json", record)
    assert record_of(json.loads((tmp_path / "record.json").read_text())) == record


@pytest.mark.parametrize("passed", [6, 8])
def test_each_test_is_counted_once(passed: int) -> None:
    row = {**STORED["rows"][1], "passed": passed}
    with pytest.raises(ValueError, match="second: 9 tests were tried"):
        record_of({**STORED, "rows": [row]})
