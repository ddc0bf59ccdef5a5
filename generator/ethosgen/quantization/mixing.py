"""Chooses the fewest layers with int16 results that keep the accuracy within a budget.

A layer's sensitivity is the outputs' ratio if its result alone is int8 and all others are int16:
rounding between two layers hurts also if each of them computes exactly. The most sensitive layers
become int16, as few as suffice; then each of them is tried in int8 once more.
"""

from collections.abc import Callable, Sequence

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.quantization import Mixture

Ratios = Callable[[list[list[str]]], list[float]]
"""Returns the outputs' ratio for each list of layers with int16 results."""
Loss = Callable[[Sequence[str]], float]
"""Returns the share of the labelled samples that is lost with some layers in int16."""


def mixture(
    layers: Sequence[str], max_loss: float, loss_int8: float, ratios: Ratios, loss_of: Loss
) -> Mixture:
    """Return the choice; UnsupportedError states the best reachable if no choice suffices."""
    if loss_int8 <= max_loss:
        return Mixture(max_loss, loss_int8, loss_int8)
    measured: dict[tuple[str, ...], float] = {(): loss_int8}

    def loss(wide: Sequence[str]) -> float:
        key = tuple(wide)
        if key not in measured:
            measured[key] = loss_of(wide)
        return measured[key]

    ranked = _ranked(layers, ratios)
    order = list(ranked)
    chosen = _fewest(order, max_loss, loss)
    for name in reversed(chosen):
        fewer = [other for other in chosen if other != name]
        if loss(fewer) <= max_loss:
            chosen = fewer
    trials = len(order) + len(measured) - 1
    return Mixture(max_loss, loss_int8, loss(chosen), tuple(chosen), ranked, trials)


def _ranked(layers: Sequence[str], ratios: Ratios) -> dict[str, float]:
    """Return the ratio with each layer alone in int8, the most sensitive layer first."""
    found = ratios([[other for other in layers if other != name] for name in layers])
    by_layer = dict(zip(layers, found, strict=True))
    return dict(sorted(by_layer.items(), key=lambda entry: entry[1]))


def _fewest(order: Sequence[str], max_loss: float, loss: Loss) -> list[str]:
    """Return the shortest beginning of the order that suffices, by halving."""
    if loss(order) > max_loss:
        raise UnsupportedError(_shortfall(len(order), max_loss, loss(()), loss(order)))
    low, high = 0, len(order)  # `low` does not suffice, `high` does
    while high - low > 1:
        middle = (low + high) // 2
        if loss(order[:middle]) <= max_loss:
            high = middle
        else:
            low = middle
    return list(order[:high])


def _shortfall(count: int, max_loss: float, int8: float, int16: float) -> str:
    best = min((int8, "int8 everywhere"), (int16, f"int16 in {counted(count, 'layer')}"))
    return (
        f"--max-loss {max_loss:.2%} cannot be met: the least loss that was measured is "
        f"{best[0]:.2%}, with {best[1]}; allow more, or keep layers in float with --keep"
    )
