"""What a run produced, and how it compares with the golden answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray[Any, Any]]
"""Tensors by name: one sample's inputs or outputs."""

FLOAT_TOLERANCE = 1e-5
"""By how much real outputs may differ where a network has functions of the C library (expf, tanhf),
of the largest magnitude in their tensor. It is what TFLite's own kernel tests allow
(ArrayFloatNear)."""


@dataclass(frozen=True)
class Comparison:
    """How outputs differ from an oracle's: elements that differ, and by how much at most.

    `close` counts real elements that differ, but within the tolerance: they are no mismatches.
    """

    oracle: str
    mismatches: int
    elements: int
    max_abs_diff: float
    close: int = 0


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


def compare(
    oracle: str, got: list[Arrays], golden: list[Arrays], tolerance: float = 0.0
) -> Comparison:
    """Compare outputs with golden ones, sample by sample and name by name.

    Shapes and dtypes must agree: a missing output or another shape counts every golden element as a
    mismatch. NaN equals NaN. Real elements may differ by `tolerance` of the largest finite
    magnitude that is expected in their tensor; integers never may.
    """
    mismatches, elements, max_abs_diff, close = 0, 0, 0.0, 0
    for index, wanted in enumerate(golden):
        have = got[index] if index < len(got) else {}
        if have and not wanted:  # the oracle waits for more inputs, and we do not
            extra = sum(array.size for array in have.values())
            elements, mismatches, max_abs_diff = elements + extra, mismatches + extra, float("inf")
        for name, expected in wanted.items():
            elements += expected.size
            actual = have.get(name)
            if actual is None or actual.shape != expected.shape or actual.dtype != expected.dtype:
                mismatches += expected.size
                max_abs_diff = float("inf")
                continue
            if expected.size:
                differs, diff = ~_equal(actual, expected), _difference(actual, expected)
                near = differs & (diff <= _allowed(expected, tolerance))
                mismatches += int(np.count_nonzero(differs & ~near))
                close += int(np.count_nonzero(near))
                max_abs_diff = max(max_abs_diff, float(np.where(differs, diff, 0.0).max()))
    return Comparison(oracle, mismatches, elements, max_abs_diff, close)


def _difference(
    actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return by how much elements differ, as far as float64 can tell: 64-bit integers have more."""
    with np.errstate(invalid="ignore"):  # infinity less infinity, which is equal
        diff = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    # A NaN where a number belongs is as wrong as can be, not a difference of 0.
    return np.asarray(np.nan_to_num(diff, nan=np.inf, posinf=np.inf))


def _allowed(expected: np.ndarray[Any, Any], tolerance: float) -> float:
    """Return the most that elements may differ by; -1 where they may not at all."""
    if not tolerance or not np.issubdtype(expected.dtype, np.floating):
        return -1.0
    finite = expected[np.isfinite(expected)]
    return tolerance * float(np.abs(finite).max()) if finite.size else -1.0
