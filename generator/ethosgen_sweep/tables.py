"""Results as Parquet and CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

_TEXT, _COUNT, _REAL, _TRUTH = "string", "int64", "double", "bool"
COLUMNS: Mapping[str, str] = {
    "network": _TEXT,
    "board": _TEXT,
    "npu": _TEXT,
    "memory_mode": _TEXT,
    "strategy": _TEXT,
    "arena_limit_bytes": _COUNT,
    "refusal": _TEXT,
    "misfit": _TEXT,
    "on_front": _TRUTH,
    "cycles": _COUNT,
    "npu_cycles": _COUNT,
    "npu_model_cycles": _COUNT,
    "cpu_cycles": _COUNT,
    "start_cycles": _COUNT,
    "unknown_operators": _COUNT,
    "without": _TEXT,
    "npu_hz": _COUNT,
    "cpu_hz": _COUNT,
    "milliseconds": _REAL,
    "arena_bytes": _COUNT,
    "fast_bytes": _COUNT,
    "sram_bytes": _COUNT,
    "constant_bytes": _COUNT,
    "code_bytes": _COUNT,
    "energy_microjoules": _REAL,
    "energy_source": _TEXT,
    "npu_operators": _COUNT,
    "cpu_operators": _COUNT,
    "partitions": _COUNT,
    "exact": _TRUTH,
    "oracle": _TEXT,
    "samples": _COUNT,
    "elements": _COUNT,
    "mismatches": _COUNT,
    "unmeasured": _TEXT,
    "notes": _TEXT,
}
"""The keys of a result's JSON, and their types."""

_WHERE = {"data": _TEXT, "network": _TEXT, "board": _TEXT, "npu": _TEXT, "on": _TEXT}
ACCURACY_COLUMNS: Mapping[str, str] = {
    **_WHERE,
    "refusal": _TEXT,
    "samples": _COUNT,
    "silent": _COUNT,
    "right": _COUNT,
    "accuracy": _REAL,
    "top": _COUNT,
    "top_right": _COUNT,
    "top_accuracy": _REAL,
    "auc": _REAL,
    "mean_score_of_positives": _REAL,
    "mean_score_of_negatives": _REAL,
    "compared_with": _TEXT,
    "differing": _COUNT,
    "taken_as": _TEXT,
}
"""The keys of a labelled result's row, and their types."""
SAMPLE_COLUMNS: Mapping[str, str] = {
    **_WHERE,
    "sample": _COUNT,
    "label": _COUNT,
    "class": _TEXT,
    "answer": _COUNT,
    "answered_class": _TEXT,
    "right": _TRUTH,
    "score": _REAL,
}
"""The keys of a sample's row, and their types."""


def csv_bytes(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> bytes:
    """Return rows as CSV, with a line of names."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def parquet_bytes(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], notes: Mapping[str, str]
) -> bytes:
    """Return rows as a Parquet file; `notes` are its metadata."""
    import pyarrow
    from pyarrow import parquet

    fields = [(name, pyarrow.type_for_alias(kind)) for name, kind in columns.items()]
    schema = pyarrow.schema(fields, metadata=dict(notes))
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(map(dict, rows)), schema), file)
    return file.getvalue()
