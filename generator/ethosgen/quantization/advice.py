"""Advice on a network that quantization hurts: which layers to keep in float, or int16.

The rule: quantization hurts if the noise is over 10% of an output's signal (20 dB), or if half a
percent of the labelled samples are lost. Then the layers that lose most are kept in float in turn:
each alone, in case its arithmetic is the cause, and each with the layers that read its result or
write its inputs, in case the rounding between them is. All activations in int16 are tried, too.
Changes that raise the outputs' ratio by 3 dB or more, which halves the noise's power, are advised.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.quantization.layers import QuantizedLayer, worst_db

HURTS_DB = 20.0
MOST_LOST = 0.005
"""The largest share of labelled samples that may be lost."""
WORTH_DB = 3.0
MOST_LAYERS = 3
MOST_READERS = 2


@dataclass(frozen=True)
class Advice:
    """Options that raise the outputs' signal-to-noise ratio to `sqnr_db`."""

    options: tuple[str, ...]
    sqnr_db: float

    def as_json(self) -> dict[str, Any]:
        """Return the advice as an object of JSON types; null means that nothing differs."""
        ratio = round(self.sqnr_db, 3) if math.isfinite(self.sqnr_db) else None
        return {"options": list(self.options), "sqnr_db": ratio}


def hurts(sqnr_db: float, before: float | None, after: float | None) -> bool:
    """Return whether quantization hurts, by the outputs' ratio or by the accuracy."""
    lost = before - after if before is not None and after is not None else 0.0
    return sqnr_db < HURTS_DB or lost > MOST_LOST


def trials(
    layers: Sequence[QuantizedLayer], activations: str, keep: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the trials worth running, as requests of a script."""
    lossy = [layer for layer in layers if layer.is_quantized and layer.lost_db > 0]
    lossy.sort(key=lambda layer: -layer.lost_db)
    requests: list[dict[str, Any]] = []
    for layer in lossy[:MOST_LAYERS]:
        names = [[layer.name]]
        if 0 < len(layer.readers) <= MOST_READERS:
            names.append([layer.name, *layer.readers])
        makers = [other.name for other in layers if layer.name in other.readers]
        if 0 < len(makers) <= MOST_READERS:
            names.append([*makers, layer.name])
        tried = [{"activations": activations, "keep": [*keep, *more]} for more in names]
        requests += (trial for trial in tried if trial not in requests)
    if activations != "int16":
        requests.append({"activations": "int16", "keep": list(keep)})
    return requests


def advice(
    tried: Sequence[dict[str, Any]],
    energies_of_trials: Sequence[Sequence[Sequence[float]]],
    sqnr_db: float,
    keep: Sequence[str],
) -> list[Advice]:
    """Return the changes that helped in a trial, the best first.

    A longer list of layers is omitted if a part of it helps as much, within a decibel.
    """
    reached = [
        (trial, worst_db(energies))
        for trial, energies in zip(tried, energies_of_trials, strict=True)
    ]
    helpful = [(trial, ratio) for trial, ratio in reached if ratio >= sqnr_db + WORTH_DB]
    advices = []
    for trial, ratio in sorted(helpful, key=lambda entry: -entry[1]):
        new = [name for name in trial["keep"] if name not in keep]
        parts = [
            r
            for t, r in helpful
            if t["activations"] == trial["activations"] and set(t["keep"]) < set(trial["keep"])
        ]
        if new and any(part >= ratio - 1 for part in parts):
            continue
        kept = tuple(word for name in new for word in ("--keep", name))
        advices.append(Advice(kept or ("--activations", trial["activations"]), ratio))
    return advices
