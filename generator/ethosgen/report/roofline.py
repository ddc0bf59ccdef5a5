"""The NPU's layers, compared with the limits of its MAC units and its memories."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ethosgen.backend.timeline import NpuTimeline
from ethosgen.report.calls import CallFacts
from ethosgen.report.content import ReportLayer, Roofline, RooflinePoint

MACS = "MACs"
"""The limit of a layer that no memory limits."""


def make_roofline(layers: Sequence[ReportLayer], calls: Sequence[CallFacts]) -> Roofline | None:
    """Return the limits and a point for each layer with products; None without an NPU's work.

    A layer's bytes are those of all its operations and copies, each operand once. Its roof is the
    peak, or less if a memory needs more cycles for its bytes alone.
    """
    timelines = [call.timeline for call in calls if call.timeline]
    if not timelines:
        return None
    first = timelines[0]
    rates = {name: rate for timeline in timelines for name, rate in timeline.rates.items()}
    moved = _moved(timelines)
    points = []
    for layer in layers:
        traffic = moved.get(layer.operator)
        if not layer.macs or not layer.cycles or traffic is None:
            continue
        total = sum(traffic.values())
        least = {name: traffic[name] / rate for name, rate in rates.items() if traffic[name]}
        least[MACS] = layer.macs / first.peak_macs
        limit = max(least, key=lambda name: least[name])
        points.append(
            RooflinePoint(
                operator=layer.operator,
                macs=layer.macs,
                bytes=total,
                cycles=layer.cycles,
                intensity=round(layer.macs / max(total, 1), 4),
                macs_per_cycle=round(layer.macs / layer.cycles, 4),
                roof=round(layer.macs / least[limit], 4),
                limit=limit,
            )
        )
    return Roofline(first.peak_macs, rates, tuple(points))


def with_utilisation(
    layers: Sequence[ReportLayer], roofline: Roofline | None
) -> tuple[ReportLayer, ...]:
    """Return the layers with the fraction of the MAC units that work during each."""
    if roofline is None:
        return tuple(layers)
    rates = {p.operator: p.macs_per_cycle / roofline.peak_macs for p in roofline.points}
    return tuple(
        replace(layer, utilisation=round(rates[layer.operator], 6))
        if layer.operator in rates
        else layer
        for layer in layers
    )


def _moved(timelines: Sequence[NpuTimeline]) -> dict[int, Counter[str]]:
    """Return the bytes that each operator's events read and write, by memory."""
    moved: dict[int, Counter[str]] = {}
    for event in (event for timeline in timelines for event in timeline.events):
        if event.operator is not None:
            bytes_of = moved.setdefault(event.operator, Counter())
            bytes_of.update(event.read)
            bytes_of.update(event.written)
    return moved
