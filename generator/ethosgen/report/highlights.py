"""The highlights: the longest layers, operators off the NPU, and the largest memory blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.report.content import Area, MemoryBlock, NetworkReport, ReportLayer
from ethosgen.values.accelerator import NO_NPU
from ethosgen.values.headline import Occupancy
from ethosgen.values.plan import CPU

_LONGEST = 4
_LARGEST = 4
_REASONS = 3


@dataclass(frozen=True)
class CpuShare:
    """Operators that run on the CPU for the same reason, and their share of the time."""

    reason: str
    layers: tuple[ReportLayer, ...]
    share: float


def longest_layers(report: NetworkReport) -> Sequence[ReportLayer]:
    """Return the layers that take most of the time, the longest first."""
    known = [layer for layer in report.layers if layer.share]
    return sorted(known, key=lambda layer: -(layer.share or 0))[:_LONGEST]


def places(report: NetworkReport) -> Sequence[tuple[str, int]]:
    """Return each place with the number of operators there, in the order of the network."""
    counts = dict.fromkeys((layer.on for layer in report.layers if layer.on), 0)
    return [(on, sum(layer.on == on for layer in report.layers)) for on in counts]


def busy_part(report: NetworkReport) -> float | None:
    """Return the fraction of MAC units that the NPU uses on average, None without products."""
    line, cycles = report.roofline, report.costs.npu_cycles
    if line is None or not cycles or not line.points:
        return None
    return sum(point.macs for point in line.points) / (cycles * line.peak_macs)


def headroom(report: NetworkReport) -> Sequence[tuple[str, str, Occupancy]]:
    """Return the board's memories with a title, the path to their figures, and their use."""
    uses = (("RAM", "ram", report.headline.ram), ("Flash", "flash", report.headline.flash))
    return [
        (title, f"/headline/{key}", use)
        for title, key, use in uses
        if use is not None and use.capacity_bytes
    ]


def left_out(report: NetworkReport) -> Sequence[CpuShare]:
    """Return why operators are not on the NPU, the costliest reason first; none without an NPU."""
    if report.setting.npu == NO_NPU:
        return []
    return cpu_shares(report.layers)[:_REASONS]


def cpu_shares(layers: Sequence[ReportLayer]) -> Sequence[CpuShare]:
    """Return the layers on the CPU by reason, the costliest first."""
    reasons: dict[str, list[ReportLayer]] = {}
    for layer in layers:
        if layer.on == CPU:
            reasons.setdefault(layer.reason, []).append(layer)
    groups = [
        CpuShare(reason, tuple(same), sum(layer.share or 0 for layer in same))
        for reason, same in reasons.items()
    ]
    return sorted(groups, key=lambda group: -group.share)


def largest_at_peak(area: Area) -> Sequence[MemoryBlock]:
    """Return the largest blocks of the slot in which most bytes are in use."""
    live = [block for block in area.blocks if block.first <= area.peak_slot <= block.last]
    return sorted(live, key=lambda block: -block.bytes)[:_LARGEST]
