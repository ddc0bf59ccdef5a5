"""The record of TOSA's suite counts each test once, by its kind and its reason."""

from pathlib import Path

from tests.suites.page import Group
from tests.suites.tosa import Result
from tests.suites.tosa_record import record, rows

RESULTS = [
    Result("add_3x4_i32", "passed"),
    Result("add_ERRORIF_RankMismatch_3_i32", "passed"),
    Result("add_ERRORIF_WrongOutputType_3_i32", "failed", "None UNEXPECTED_PASS: it passed"),
    Result("cast_1x2_i4", "failed", "None UNEXPECTED_FAILURE: refused: 'a' has the type 4, 5"),
    Result("cast_2x2_i4", "failed", "None UNEXPECTED_FAILURE: refused: 'b' has the type 6"),
    Result("mul_2x2_i8", "failed", "None UNEXPECTED_FAILURE: 3 of 4 elements"),
    Result("fft2d_1", "skipped"),
]


def test_tests_are_counted_by_kind_and_reason() -> None:
    positive, negative = rows("cpu", RESULTS)
    assert positive.group == "cpu, positive" and positive.counts == (4, 1, 2, 1)
    assert positive.refused == {"'…' has the type N": 2}
    assert negative.counts == (2, 1, 0, 1)


def test_a_setting_without_negative_tests_has_one_row() -> None:
    (positive,) = rows("qemu", RESULTS[:1])
    assert positive.counts == (1, 1, 0, 0)


RUN = """
<testsuites><testsuite name="tests.suites.tosa_sut">
<testcase classname="add" name="operators/add_2_f32"/>
</testsuite></testsuites>
"""


def test_rows_of_other_settings_stay(tmp_path: Path) -> None:
    (tmp_path / "cpu.xml").write_text(RUN)
    before = [Group("qemu, positive", 2, 2, {}, {}), Group("cpu, positive", 9, 9, {}, {})]
    kept = record({"cpu": [tmp_path / "cpu.xml"]}, before).rows
    assert [(row.group, row.tried) for row in kept] == [("qemu, positive", 2), ("cpu, positive", 1)]
