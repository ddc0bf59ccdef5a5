"""The files of a sweep: Parquet has each column's type, and nobody else's files are touched."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from ethosgen.values.configurations import ComparisonReport
from ethosgen.values.errors import InputError
from ethosgen_sweep.report import SweepCounts, SweepReport
from ethosgen_sweep.result_folder import SUMMARY, claim, write_files
from ethosgen_sweep.tables import ACCURACY_COLUMNS, COLUMNS, SAMPLE_COLUMNS
from tests.support.costs import make_labelled, make_result

RESULTS = (make_result(), make_result(cost=None, refusal="no"))
REPORT = SweepReport(ComparisonReport(RESULTS, {"Vela": "5"}), SweepCounts(2, 2))


def test_parquet_has_the_rows_of_the_json(tmp_path: Path) -> None:
    names = write_files(tmp_path / "out", REPORT, {"other.csv": b"x"})
    assert names == ["other.csv", "results.parquet", SUMMARY]
    table = parquet.read_table(tmp_path / "out" / "results.parquet")
    assert table.to_pylist() == [result.as_json() for result in RESULTS]
    assert {field.name: str(field.type) for field in table.schema} == dict(COLUMNS)
    assert table.schema.metadata[b"Vela"] == b"5"
    claim(tmp_path / "out")  # a sweep's folder takes its next results


def test_labelled_data_have_files_of_their_own(tmp_path: Path) -> None:
    report = replace(REPORT, accuracy=(make_labelled(), make_labelled(None, refusal="no")))
    names = write_files(tmp_path / "out", report, {})
    assert names[:2] == ["accuracy.csv", "accuracy.parquet"] and "samples.parquet" in names
    rows = parquet.read_table(tmp_path / "out" / "accuracy.parquet")
    assert rows.to_pylist() == [labelled.as_row() for labelled in report.accuracy]
    assert {field.name: str(field.type) for field in rows.schema} == dict(ACCURACY_COLUMNS)
    assert rows.to_pylist()[0]["accuracy"] == 2 / 3 and rows.schema.metadata[b"Vela"] == b"5"
    samples = parquet.read_table(tmp_path / "out" / "samples.parquet")
    assert samples.to_pylist() == list(report.accuracy[0].sample_rows())
    assert samples.column("right").to_pylist() == [True, False, True]
    assert {field.name: str(field.type) for field in samples.schema} == dict(SAMPLE_COLUMNS)
    with (tmp_path / "out" / "accuracy.csv").open() as file:
        first, second = csv.DictReader(file)
    assert (first["right"], first["network"], second["refusal"]) == ("2", "net", "no")
    (tmp_path / "out" / "mine.txt").write_text("")
    names = write_files(tmp_path / "out", REPORT, {})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(
        [*names, "mine.txt"]
    )


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="files that no sweep wrote"):
        claim(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        claim(tmp_path / "file")
