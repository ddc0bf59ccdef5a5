"""The outputs of a run, and their comparison with the golden outputs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ethosgen.values.profile import Profile
from ethosgen.values.time import InferenceCycles

FLOAT_STEP = 2.0**-8
"""A step of a float output, by which it may differ if the user allows steps: a part of the largest
magnitude in its tensor, as of 8 bits."""

Arrays = Mapping[str, np.ndarray[Any, Any]]
"""Tensors by name: one sample's inputs or outputs."""


@dataclass(frozen=True)
class Difference:
    """One element that differs; samples count from 0.

    `index` and `got` are None if the whole tensor is missing, or has another shape or type; `index`
    and `expected` are None if the oracle has no such output.
    """

    sample: int
    tensor: str
    index: tuple[int, ...] | None
    expected: int | float | bool | None
    got: int | float | bool | None

    def text(self) -> str:
        """Return the location and both values, for people."""
        where = f"sample {self.sample}, '{self.tensor}'"
        if self.index is None:
            missing = "is missing or has another shape" if self.got is None else "is not expected"
            return f"{where}: {missing}"
        return (
            f"{where} [{', '.join(map(str, self.index))}]: expected {self.expected}, got {self.got}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "sample": self.sample,
            "output": self.tensor,
            "index": list(self.index) if self.index is not None else None,
            "expected": _json_number(self.expected),
            "got": _json_number(self.got),
        }


def _json_number(value: float | None) -> float | str | None:
    """Return a number as JSON can represent it; infinities and NaN as strings."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class LeftOut:
    """Elements that a comparison leaves out: a mask by output for each sample, and the reason."""

    masks: Sequence[Mapping[str, np.ndarray[Any, np.dtype[np.bool_]]]]
    why: str

    def holds_all(self, sample: int, outputs: Arrays) -> bool:
        """Return whether every element of a sample's outputs is left out; it must have some."""
        masks = self.masks[sample]
        return bool(outputs) and all(n in masks and bool(masks[n].all()) for n in outputs)


@dataclass(frozen=True)
class OutputComparison:
    """The comparison of outputs with an oracle's: number of mismatches, largest difference.

    `close` counts elements that differ within the tolerance, or within the `steps` that the user
    allows: they are not mismatches. With `steps` the outputs are not claimed to be equal. `first`
    is the first mismatch, None if there is none. `left_out` counts elements that are not in
    `elements`, for the reason `left_out_why`. `version` and `title` are the oracle's, and `note`
    tells why this oracle decides although it usually does not, or why it may disagree with the
    other. `skipped` tells why the oracle was skipped.
    """

    oracle: str
    mismatches: int
    elements: int
    max_abs_diff: float
    close: int = 0
    first: Difference | None = None
    title: str = ""
    version: str = ""
    note: str = ""
    skipped: str = ""
    left_out: int = 0
    left_out_why: str = ""
    steps: float = 0.0


@dataclass(frozen=True)
class StackUse:
    """The bytes of stack that inferences used, and what they can need by the firmware's code.

    `used` has the NPU's interrupt during the wait, `bound` has the bytes of `interrupt` at the
    deepest place. `bound` is None if the code has no bound.
    """

    used: int
    bound: int | None
    interrupt: int = 0

    @property
    def above(self) -> int | None:
        """The bytes by which the bound, without the interrupt, is above what was used."""
        return None if self.bound is None else self.bound - self.interrupt - self.used


@dataclass(frozen=True)
class Sample:
    """One inference as the target reports it; None for figures that the target cannot measure.

    cpu_instructions counts outside the wait for the NPU, slice_instructions in the longest slice of
    an inference in slices; stack_bytes is the painted stack's use,
    run_stack that of this inference, if it has outputs;
    npu_pmu has the firmware's readings of the NPU's performance monitor, by event. run_ns is the
    wall-clock time, if the target's clock measures that. profile is the cost of each step, in a run
    that requested it. cpu_cycles are those of the processor's model, if QEMU counted blocks.
    """

    outputs: Arrays
    cpu_instructions: int | None = None
    init_instructions: int | None = None
    stack_bytes: int | None = None
    run_stack: StackUse | None = None
    slice_instructions: int | None = None
    npu_pmu: Mapping[str, int] | None = None
    run_ns: int | None = None
    profile: Profile | None = None
    cpu_cycles: InferenceCycles | None = None


@dataclass(frozen=True)
class Outcome:
    """The samples of one run. `ended` is true only if the firmware's own end marker was seen."""

    samples: tuple[Sample, ...] = field(repr=False)
    ended: bool


def equal_elements(
    actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return a bool array that is true for equal elements.

    Shapes and dtypes must agree. NaN equals NaN, and only the byte 1 is true.
    """
    actual, expected = _bytes_of_bools(actual), _bytes_of_bools(expected)
    if np.issubdtype(expected.dtype, np.floating):
        return np.asarray((actual == expected) | (np.isnan(actual) & np.isnan(expected)))
    return np.asarray(actual == expected)


def _bytes_of_bools(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return bools as uint8, other arrays as they are.

    NumPy treats every byte but 0 as true, so for it the NPU's -1 and C's 1 are equal.
    """
    return array.view(np.uint8) if array.dtype == np.bool_ else array


def constant_outputs(samples: Sequence[Arrays], outputs: Sequence[Arrays]) -> tuple[str, ...]:
    """Return the names of outputs that are the same for all samples, if two or more samples differ.

    Such an output equals an oracle's regardless of what the network does with its inputs.
    """
    present = [each for each in outputs if each]  # a network that waits for inputs has no outputs
    if len(present) < 2 or all(_is_same(samples[0], other) for other in samples[1:]):
        return ()
    return tuple(
        name
        for name, first in present[0].items()
        if first.size and all(_is_same({name: first}, other) for other in present[1:])
    )


def _is_same(some: Arrays, others: Arrays) -> bool:
    return all(
        name in others and array.tobytes() == others[name].tobytes() for name, array in some.items()
    )


def compare(
    oracle: str,
    got: list[Arrays],
    golden: list[Arrays],
    tolerance: float = 0.0,
    left_out: LeftOut | None = None,
    steps: float = 0.0,
) -> OutputComparison:
    """Compare outputs with golden ones, sample by sample and name by name.

    Shapes and dtypes must agree: a missing output or another shape counts every golden element as
    a mismatch. NaN equals NaN, and only the byte 1 is true. Float elements may differ by
    `tolerance` times the largest finite magnitude expected in their tensor; integers must be equal,
    unless the user allows `steps` (FLOAT_STEP for floats). Elements in `left_out` are counted and
    not compared.
    """
    mismatches, elements, max_abs_diff, close, omitted = 0, 0, 0.0, 0, 0
    first: Difference | None = None
    for index, wanted in enumerate(golden):
        have = got[index] if index < len(got) else {}
        if have and not wanted:  # the oracle waits for more inputs, and we do not
            extra = sum(array.size for array in have.values())
            elements, mismatches, max_abs_diff = elements + extra, mismatches + extra, float("inf")
            first = first or Difference(index, next(iter(have)), None, None, 0)
        for name, expected in wanted.items():
            mask = left_out.masks[index].get(name) if left_out else None
            taken = np.ones(expected.shape, bool) if mask is None else ~mask
            size = int(np.count_nonzero(taken))
            elements, omitted = elements + size, omitted + expected.size - size
            actual = have.get(name)
            if actual is None or actual.shape != expected.shape or actual.dtype != expected.dtype:
                mismatches += size
                max_abs_diff = float("inf")
                first = first or Difference(index, name, None, None, None)
                continue
            if expected.size:
                differs = ~equal_elements(actual, expected) & taken
                diff = _difference(actual, expected)
                near = differs & (diff <= _allowed(expected, tolerance, steps))
                mismatches += int(np.count_nonzero(differs & ~near))
                close += int(np.count_nonzero(near))
                max_abs_diff = max(max_abs_diff, float(np.where(differs, diff, 0.0).max()))
                first = first or _first(index, name, differs & ~near, expected, actual)
    why = left_out.why if left_out else ""
    details: dict[str, Any] = {"left_out": omitted, "left_out_why": why, "steps": steps}
    return OutputComparison(oracle, mismatches, elements, max_abs_diff, close, first, **details)


def _first(
    sample: int,
    name: str,
    differs: np.ndarray[Any, Any],
    expected: np.ndarray[Any, Any],
    actual: np.ndarray[Any, Any],
) -> Difference | None:
    if not differs.any():
        return None
    place = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), differs.shape))
    wanted, computed = _bytes_of_bools(expected)[place], _bytes_of_bools(actual)[place]
    return Difference(sample, name, place, wanted.item(), computed.item())


def _difference(
    actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the absolute difference of each element in float64, inexact for large int64 values."""
    actual, expected = _bytes_of_bools(actual), _bytes_of_bools(expected)
    with np.errstate(invalid="ignore"):  # infinity minus infinity, which are equal
        diff = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    # A NaN instead of a number is an infinite difference, not a difference of 0.
    return np.asarray(np.nan_to_num(diff, nan=np.inf, posinf=np.inf))


def _allowed(expected: np.ndarray[Any, Any], tolerance: float, steps: float) -> float:
    """Return the largest difference allowed for any element, -1 if elements must be equal."""
    if not np.issubdtype(expected.dtype, np.floating):
        return steps if steps and expected.dtype != np.bool_ else -1.0
    tolerance = max(tolerance, steps * FLOAT_STEP)
    if not tolerance:
        return -1.0
    finite = expected[np.isfinite(expected)]
    return tolerance * float(np.abs(finite).max()) if finite.size else -1.0
