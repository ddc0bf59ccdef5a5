"""The table of networks on the CPU: cycles first, beside TensorFlow Lite Micro's fastest build."""

from typing import Any

import pytest

from bench import cpu_only

MODEL: dict[str, Any] = {
    "name": "kws_dscnn_int8",
    "firmware": {"mismatches": 0, "elements": 60},
    "instructions": 905_993,
    "init_instructions": 11,
    "arena_bytes": 17_840,
    "code_bytes": 4_260,
    "stack_bytes": 300,
}


@pytest.mark.parametrize(
    ("known", "cells"),
    [
        ({}, ["-", "1,781,221", "-"]),
        ({"cycles": None}, ["-", "1,781,221", "-"]),
        ({"cycles": 890_611}, ["890,611", "1,781,221", "**0.50**"]),
    ],
)
def test_cycles_come_first_and_old_figures_lack_them(
    known: dict[str, Any], cells: list[str]
) -> None:
    head, (row,) = cpu_only.rows([MODEL | known])
    assert head[2:6] == ["cycles", "TFLM", "ratio", "instructions"]
    assert len(row) == len(head)
    assert row[2:5] == cells
    assert row[5:8] == ["905,993", "1,811,987", "0.50"]
