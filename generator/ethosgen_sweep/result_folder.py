"""The folder with a sweep's results."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ethosgen.host.file_errors import require_writable
from ethosgen.values.errors import InputError, cannot_write
from ethosgen_sweep.report import SweepReport
from ethosgen_sweep.tables import (
    ACCURACY_COLUMNS,
    COLUMNS,
    SAMPLE_COLUMNS,
    csv_bytes,
    parquet_bytes,
)

SUMMARY = "sweep.json"
"""What `--json` prints; it also marks a folder as a sweep's."""
ACCURACY_CSV, ACCURACY, SAMPLES = "accuracy.csv", "accuracy.parquet", "samples.parquet"
PAGE = "report.html"
_SOMETIMES = {ACCURACY_CSV, ACCURACY, SAMPLES, PAGE}
"""Files that not every sweep has."""


def claim(folder: Path) -> None:
    """Raise InputError if a folder cannot take results, or holds something else."""
    require_writable(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / SUMMARY).is_file():
        raise InputError(
            f"'{folder}' has files that no sweep wrote, and they stay; choose another "
            "folder with --output"
        )


def write_files(folder: Path, report: SweepReport, others: Mapping[str, bytes]) -> list[str]:
    """Write the results and the other files, each in one step; return all names.

    Files of an earlier sweep that this one does not have are removed.
    """
    summary = report.as_json()
    rows = [result.as_json() for result in report.results]
    notes = {name: str(version) for name, version in summary["versions"].items()}
    files = {
        SUMMARY: (json.dumps(summary, indent=1) + "\n").encode(),
        "results.parquet": parquet_bytes(rows, COLUMNS, notes),
        **_labelled(report, notes),
        **others,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            _write(folder / name, data)
        for name in _SOMETIMES - files.keys():  # an earlier sweep's
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None
    return sorted(files)


def _labelled(report: SweepReport, notes: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files with the accuracy on labelled data, none without data."""
    if not report.accuracy:
        return {}
    rows = [labelled.as_row() for labelled in report.accuracy]
    samples = [row for labelled in report.accuracy for row in labelled.sample_rows()]
    return {
        ACCURACY_CSV: csv_bytes(rows, ACCURACY_COLUMNS),
        ACCURACY: parquet_bytes(rows, ACCURACY_COLUMNS, notes),
        SAMPLES: parquet_bytes(samples, SAMPLE_COLUMNS, notes),
    }


def _write(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
