"""The data of CMSIS-NN's unit tests: numbers and arrays in C, and scales for multipliers."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_ARRAY = re.compile(r"const\s+(u?int\d+|float32)_t\s+(\w+)\s*\[[^\]]*\]\s*=\s*\{([^}]*)\}")
_FACT = re.compile(r"#define (\w+)[ \t]+((?:\\\n|[^\n])+)")
_INCLUDE = re.compile(r'#include "([^"]+)"')
_PLACES = 24
"""The bits of a float32's significand."""
_TRIES = 1 << 14
_CHUNK = 1 << 19
_CANDIDATES = 16


@dataclass(frozen=True)
class TestData:
    """The headers of one folder; names of facts and arrays come without the folder's name."""

    __test__ = False

    folder: Path
    kind: str

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @cached_property
    def text(self) -> str:
        """The text of all headers that the tests include."""
        names = _INCLUDE.findall((self.folder / "test_data.h").read_text())
        return "\n".join((self.folder / name).read_text() for name in names)

    @cached_property
    def facts(self) -> dict[str, str]:
        """The macros."""
        return {
            name.removeprefix(f"{self.name.upper()}_"): value.replace("\\\n", " ").strip()
            for name, value in _FACT.findall(self.text)
        }

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The arrays, flat."""
        return {
            name.removeprefix(f"{self.name}_"): np.array(
                [_parsed(word) for word in re.split(r"[,\s]+", values) if word]
            ).astype(dtype)
            for dtype, name, values in _ARRAY.findall(self.text)
        }

    def real(self, name: str) -> float:
        """Return a macro that is a number of float32."""
        return float(_parsed(self.facts[name]))

    def number(self, *names: str, default: int | None = None) -> int:
        """Return the macro with the first of the names that there is."""
        for name in names:
            if name in self.facts:
                return int(self.facts[name].strip("()"))
        if default is None:
            raise KeyError(f"{self.name} has none of {names}")
        return default

    def numbers(self, name: str) -> list[int]:
        """Return the numbers of a macro that initializes an array."""
        return [int(word) for word in re.findall(r"-?\d+", self.facts[name])]

    def array(self, *names: str) -> Array:
        """Return the array with the first of the names that there is."""
        for name in names:
            if name in self.arrays:
                return self.arrays[name]
        raise KeyError(f"{self.name} has none of {names}")

    @property
    def multipliers(self) -> list[float]:
        """The factors from sums to outputs, one for each channel or a single one."""
        if "OUTPUT_MULTIPLIER" in self.facts or "OUTPUT_MULT" in self.facts:
            return [self.factor("OUTPUT_MULTIPLIER", "OUTPUT_MULT", "OUTPUT_SHIFT")]
        held = self.array("output_mult", "output_multiplier")
        shifts = self.array("output_shift")
        return [math.ldexp(m, s - 31) for m, s in zip(held.tolist(), shifts.tolist(), strict=True)]

    def factor(self, *names: str) -> float:
        """Return the factor of a multiplier and a shift; the last name is the shift's."""
        return math.ldexp(self.number(*names[:-1]), self.number(names[-1]) - 31)


def _parsed(word: str) -> int | float:
    """Return a number of C."""
    return float(word.rstrip("f")) if re.search(r"[.fe]", word) else int(word)


def tests_in(tree: Path) -> Iterator[TestData]:
    """Yield the integer tests of a checkout of CMSIS-NN."""
    cases = tree / "Tests" / "UnitTest" / "TestCases"
    kinds: dict[str, str] = {}
    for folder in sorted(cases.glob("test_arm_*")):
        if not folder.name.endswith(("f16", "f32")):
            for file in folder.glob("*.c"):
                for name in re.findall(r"TestData/(\w+)/", file.read_text()):
                    kinds.setdefault(name, folder.name.removeprefix("test_arm_"))
    for name, kind in sorted(kinds.items()):
        yield TestData(cases / "TestData" / name, kind)


def scales_for(multipliers: Sequence[float]) -> tuple[float, list[float], float, int]:
    """Return scales whose products are multipliers: input, weights, output; and how many are not.

    TFLite's scales are float32, multipliers have 31 bits. The suite's tools computed multipliers of
    such scales, and this finds others with the same multipliers: for each significand of the first
    scale, those of the others follow, and most are none of 24 bits.
    """
    best = _with_first(multipliers, 1 << (_PLACES - 1))
    for start in range(1 << (_PLACES - 1), 1 << _PLACES, _CHUNK):
        if best[3] == 0:
            break
        for first in _fitting(multipliers, start)[:_CANDIDATES]:
            best = min(best, _with_first(multipliers, float(first)), key=lambda scales: scales[3])
    return best


def _fitting(multipliers: Sequence[float], start: int) -> Array:
    """Return significands of the first scale with which the others have 24 bits as well."""
    left = np.arange(start, start + _CHUNK, dtype=np.float64)
    for factor in multipliers[1:]:
        others = _significands(factor / _mantissa(multipliers[0]) * left)
        near = np.rint(others)
        left = left[np.abs(others - near) <= near * 2.0**-30]
    return left


def _with_first(
    multipliers: Sequence[float], significand: float
) -> tuple[float, list[float], float, int]:
    """Return the scales with a significand of the first, the best of many inputs' and outputs'."""
    factors = np.array(multipliers)
    weights = (factors / (_mantissa(multipliers[0]) / significand)).astype(np.float32)
    weights = weights.astype(np.float64)
    half = np.ldexp(0.5, np.frexp(factors)[1] - 31)
    ratio = (np.max((factors - half) / weights) + np.min((factors + half) / weights)) / 2
    outputs = np.random.default_rng(0).uniform(1, 2, _TRIES).astype(np.float32).astype(np.float64)
    inputs = (outputs * ratio).astype(np.float32).astype(np.float64)
    products = inputs * weights[:, np.newaxis] / outputs
    wrong = np.sum(quantized(products) != quantized(factors)[:, np.newaxis], axis=0)
    place = int(np.argmin(wrong))
    return float(inputs[place]), weights.tolist(), float(outputs[place]), int(wrong[place])


def _mantissa(value: float) -> float:
    return math.frexp(value)[0]


def _significands(values: Array) -> Array:
    """Return numbers scaled by powers of two to 24 bits before the point."""
    mantissas: Array = np.frexp(values)[0] * (1 << _PLACES)
    return mantissas


def quantized(values: Array) -> Array:
    """Return the multipliers of 31 bits."""
    rounded: Array = np.rint(np.frexp(values)[0] * 2.0**31)
    return rounded
