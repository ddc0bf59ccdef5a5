"""Results as Parquet."""

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


def parquet_bytes(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], notes: Mapping[str, str]
) -> bytes:
    """Return rows as a Parquet file; `notes` are its metadata."""
    import pyarrow
    from pyarrow import parquet

    fields = [(name, pyarrow.type_for_alias(kind)) for name, kind in columns.items()]
    schema = pyarrow.schema(fields, metadata=dict(notes))
    made = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(map(dict, rows)), schema), made)
    return made.getvalue()
