"""What a run produced, and how it compares with the golden answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray[Any, Any]]
"""Tensors by name: one sample's inputs or outputs."""


@dataclass(frozen=True)
class Comparison:
    """How outputs differ from an oracle's: elements that differ, and by how much at most."""

    oracle: str
    mismatches: int
    elements: int
    max_abs_diff: float


@dataclass(frozen=True)
class Sample:
    """One inference as the target reports it; None where it cannot tell.

    cpu_instructions counts outside the wait for the NPU; stack_bytes is the painted stack's use;
    npu_pmu is what the firmware read from the NPU's performance monitor, by event.
    """

    outputs: Arrays
    cpu_instructions: int | None = None
    init_instructions: int | None = None
    stack_bytes: int | None = None
    npu_pmu: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Outcome:
    """The samples of one run. `ended` is true only if the firmware's own end marker was seen."""

    samples: tuple[Sample, ...] = field(repr=False)
    ended: bool


def _equal(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if np.issubdtype(expected.dtype, np.floating):
        return np.asarray((actual == expected) | (np.isnan(actual) & np.isnan(expected)))
    return np.asarray(actual == expected)


def compare(oracle: str, got: list[Arrays], golden: list[Arrays]) -> Comparison:
    """Compare outputs with golden ones, sample by sample and name by name.

    Shapes and dtypes must agree: a missing output or another shape counts every golden element as a
    mismatch. NaN equals NaN.
    """
    mismatches, elements, max_abs_diff = 0, 0, 0.0
    for index, wanted in enumerate(golden):
        have = got[index] if index < len(got) else {}
        for name, expected in wanted.items():
            elements += expected.size
            actual = have.get(name)
            if actual is None or actual.shape != expected.shape or actual.dtype != expected.dtype:
                mismatches += expected.size
                max_abs_diff = float("inf")
                continue
            equal = _equal(actual, expected)
            mismatches += int(expected.size - np.count_nonzero(equal))
            if expected.size:
                diff = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
                # A NaN where a number belongs is as wrong as can be, not a difference of 0.
                wrong = np.where(equal, 0.0, np.nan_to_num(diff, nan=np.inf, posinf=np.inf))
                max_abs_diff = max(max_abs_diff, float(wrong.max()))
    return Comparison(oracle, mismatches, elements, max_abs_diff)
