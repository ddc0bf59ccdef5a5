"""Chooses the fewest layers with int16 results that keep the accuracy, and the time, in a budget.

A layer's sensitivity is the outputs' ratio if only its result is int8 and all others are int16:
rounding between two layers hurts even if both compute exactly. The most sensitive layers become
int16, as few as suffice; then each of them is tried in int8 again. If these take too long, the
layers that lose most per millisecond of int16 become int16, as many as the time allows; of these,
as few as suffice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.quantization import Mixture, change_text

Ratios = Callable[[list[list[str]]], list[float]]
"""Returns the outputs' ratio for each list of layers with int16 results."""
Figure = Callable[[Sequence[str]], float]
"""Returns a figure of the network with some layers' results in int16."""


@dataclass(frozen=True)
class MixtureBudget:
    """The permitted loss, and the permitted time of an inference; None for no limit."""

    max_loss: float
    max_ms: float | None = None

    def __str__(self) -> str:
        """The options that state it."""
        time = "" if self.max_ms is None else f" and --max-ms {self.max_ms:g}"
        return f"--max-loss {self.max_loss:.2%}{time}"


@dataclass(frozen=True)
class Trials:
    """The networks that were measured: the share that each loses, its milliseconds."""

    budget: MixtureBudget
    measure_loss: Figure
    measure_ms: Figure
    losses: dict[tuple[str, ...], float]
    times: dict[tuple[str, ...], float] = field(default_factory=dict)

    def loss(self, wide: Sequence[str]) -> float:
        """Return the share of the labelled samples that is lost."""
        key = tuple(wide)
        if key not in self.losses:
            self.losses[key] = self.measure_loss(wide)
        return self.losses[key]

    def ms(self, wide: Sequence[str]) -> float:
        """Return the milliseconds of an inference."""
        key = tuple(wide)
        if key not in self.times:
            self.times[key] = self.measure_ms(wide)
        return self.times[key]

    def keeps_accuracy(self, wide: Sequence[str]) -> bool:
        """Return whether a choice loses no more than permitted."""
        return self.loss(wide) <= self.budget.max_loss

    def keeps_time(self, wide: Sequence[str]) -> bool:
        """Return whether a choice takes no longer than permitted."""
        return self.budget.max_ms is None or self.ms(wide) <= self.budget.max_ms


def mixture(
    layers: Sequence[str],
    budget: MixtureBudget,
    loss_int8: float,
    ratios: Ratios,
    loss_of: Figure,
    ms_of: Figure,
) -> Mixture:
    """Return the choice; UnsupportedError states the nearest ones if none suffices."""
    tried = Trials(budget, loss_of, ms_of, {(): loss_int8})
    if not tried.keeps_time(()):
        raise UnsupportedError(
            f"--max-ms {budget.max_ms:g} cannot be met: int8 everywhere already takes "
            f"{_ms(tried.ms(()))} (with {change_text(loss_int8)}); allow more time, or name a "
            "faster NPU with --npu"
        )
    ranked: dict[str, float] = {}
    chosen: list[str] = []
    if not tried.keeps_accuracy(()):
        ranked = _ranked(layers, ratios)
        chosen = _chosen(ranked, tried)
    has_time = budget.max_ms is not None
    return Mixture(
        budget.max_loss,
        loss_int8,
        tried.loss(chosen),
        tuple(chosen),
        ranked,
        len(ranked) + len(tried.losses.keys() | tried.times.keys()) - 1,
        budget.max_ms,
        tried.ms(()) if has_time else None,
        tried.ms(chosen) if has_time else None,
    )


def _ranked(layers: Sequence[str], ratios: Ratios) -> dict[str, float]:
    """Return the ratio with each layer alone in int8, the most sensitive layer first."""
    measured = ratios([[other for other in layers if other != name] for name in layers])
    by_layer = dict(zip(layers, measured, strict=True))
    return dict(sorted(by_layer.items(), key=lambda entry: entry[1]))


def _chosen(ranked: dict[str, float], tried: Trials) -> list[str]:
    """Return the choice that keeps the budget; UnsupportedError if there is none."""
    order = list(ranked)
    if not tried.keeps_accuracy(order):
        raise UnsupportedError(_shortfall(order, tried))
    sensitive = _fewest(order, tried)
    if tried.keeps_time(sensitive):
        return sensitive
    affordable = _affordable(ranked, tried)
    if tried.keeps_accuracy(affordable):
        fewest = _fewest(affordable, tried)
        return fewest if tried.keeps_time(fewest) else affordable
    raise UnsupportedError(
        f"{tried.budget} cannot be met together; the nearest choices: {_choice(sensitive, tried)}, "
        f"or {_choice(affordable, tried)}; allow more of one, or name a faster NPU with --npu"
    )


def _affordable(ranked: dict[str, float], tried: Trials) -> list[str]:
    """Return the layers for which there is time, those that lose most for their time first."""
    at_least = 1e-6  # a layer whose int16 costs nothing

    def noise_by_ms(name: str) -> float:
        extra = max(tried.ms([name]) - tried.ms(()), at_least)
        return math.pow(10, -ranked[name] / 10) / extra

    chosen: list[str] = []
    for name in sorted(ranked, key=noise_by_ms, reverse=True):
        if tried.keeps_time([*chosen, name]):
            chosen.append(name)
    return chosen


def _fewest(order: Sequence[str], tried: Trials) -> list[str]:
    """Return the shortest sufficient start of the order, by halving, without dispensable layers.

    All of the order must suffice.
    """
    low, high = 0, len(order)  # `low` does not suffice, `high` does
    while high - low > 1:
        middle = (low + high) // 2
        if tried.keeps_accuracy(order[:middle]):
            high = middle
        else:
            low = middle
    chosen = list(order[:high])
    for name in reversed(chosen):
        fewer = [other for other in chosen if other != name]
        if tried.keeps_accuracy(fewer):
            chosen = fewer
    return chosen


def _shortfall(order: Sequence[str], tried: Trials) -> str:
    best = min((), tuple(order), key=tried.loss)
    return (
        f"--max-loss {tried.budget.max_loss:.2%} cannot be met: the least loss that was measured "
        f"is {tried.loss(best):.2%}, with {_layers(best)}; allow more, or keep layers in float "
        "with --keep"
    )


def _choice(wide: Sequence[str], tried: Trials) -> str:
    return f"{_layers(wide)} with {change_text(tried.loss(wide))} and {_ms(tried.ms(wide))}"


def _layers(wide: Sequence[str]) -> str:
    return f"int16 in {counted(len(wide), 'layer')}" if wide else "int8 everywhere"


def _ms(milliseconds: float) -> str:
    return f"≈ {milliseconds:.3g} ms"
