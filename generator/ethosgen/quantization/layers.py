"""Layers of a quantized network, and their distances from the float network."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SquareSums:
    """Sums of squares over samples and elements: of the float values, and of the differences."""

    signal: float
    noise: float

    @property
    def error(self) -> float:
        """The root mean square of the differences, relative to that of the values."""
        if self.noise == 0:
            return 0.0
        return math.sqrt(self.noise / self.signal) if self.signal else math.inf

    @property
    def sqnr_db(self) -> float:
        """The signal-to-quantization-noise ratio in decibels; infinite without any difference."""
        return -20 * math.log10(self.error) if self.error else math.inf


@dataclass(frozen=True)
class QuantizedLayer:
    """An operator of the float network and its result in the quantized one.

    `dtype` is that of its result, float32 if it was not quantized. `inputs` are those that have
    floats in the float network and are not constants. `readers` are layers that read the result.
    """

    name: str
    operator: str
    dtype: str
    energy: SquareSums
    inputs: tuple[SquareSums, ...]
    readers: tuple[str, ...] = ()

    @property
    def is_quantized(self) -> bool:
        """Whether the layer computes with integers."""
        return np.dtype(self.dtype).kind in "iu"

    @property
    def lost_db(self) -> float:
        """The loss of signal-to-noise ratio from the worst input to the result."""
        before = min((energy.sqnr_db for energy in self.inputs), default=math.inf)
        return min(before, _EXACT_DB) - min(self.energy.sqnr_db, _EXACT_DB)

    def as_json(self) -> dict[str, Any]:
        """Return the layer as an object of JSON types; a ratio is null if nothing differs."""
        return {
            "name": self.name,
            "operator": self.operator,
            "dtype": self.dtype,
            "error": _number(self.energy.error),
            "sqnr_db": _number(self.energy.sqnr_db),
            "lost_db": _number(self.lost_db),
        }


_EXACT_DB = 150.0
"""Better than float32 can be."""


def layers_of(figures: Iterable[Mapping[str, Any]]) -> list[QuantizedLayer]:
    """Return the layers that a script measured."""
    return [
        QuantizedLayer(
            layer["name"],
            layer["operator"],
            layer["dtype"],
            SquareSums(*layer["energy"]),
            tuple(SquareSums(*energy) for energy in layer["inputs"]),
            tuple(layer["readers"]),
        )
        for layer in figures
    ]


def worst_db(energies: Sequence[Sequence[float]]) -> float:
    """Return the lowest signal-to-noise ratio of several outputs."""
    return min((SquareSums(*energy).sqnr_db for energy in energies), default=math.inf)


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
