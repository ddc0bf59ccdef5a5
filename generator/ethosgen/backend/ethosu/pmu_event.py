"""The events of the NPU's performance monitor, with their numbers in Arm's pmu_event."""

from enum import IntEnum

AXI1 = 256
"""Offset from an event of AXI port 0 to the same event of port 1."""


class PmuEvent(IntEnum):
    """The events that the generated application counts, and similar ones, with U55's names."""

    CYCLE = 17
    NPU_IDLE = 32
    NPU_ACTIVE = 35
    MAC_ACTIVE = 48
    MAC_ACTIVE_8BIT = 49
    MAC_ACTIVE_16BIT = 50
    AXI0_RD_DATA_BEAT_RECEIVED = 130
    AXI0_WR_DATA_BEAT_WRITTEN = 135
    AXI0_ENABLED_CYCLES = 140
    AXI1_RD_DATA_BEAT_RECEIVED = AXI0_RD_DATA_BEAT_RECEIVED + AXI1
    AXI1_WR_DATA_BEAT_WRITTEN = AXI0_WR_DATA_BEAT_WRITTEN + AXI1
    AXI1_ENABLED_CYCLES = AXI0_ENABLED_CYCLES + AXI1


NOT_ON_U85 = frozenset({PmuEvent.MAC_ACTIVE_8BIT, PmuEvent.MAC_ACTIVE_16BIT})
_U85_MEMORIES = {"axi0": "sram", "axi1": "ext"}
"""U85 has several ports to each memory; its events have the numbers of U55's two ports."""


def event_names(product: str) -> dict[int, str]:
    """Return the events' names in Arm's pmu_event of a product, in lower case, by their numbers."""
    names = {int(event): event.name.lower() for event in PmuEvent}
    if product != "u85":
        return names
    parts = {n: name.partition("_") for n, name in names.items() if n not in NOT_ON_U85}
    return {n: f"{_U85_MEMORIES.get(a, a)}{_}{b}" for n, (a, _, b) in parts.items()}
