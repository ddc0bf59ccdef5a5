"""The events that the NPU's performance monitor counts, by their numbers in Arm's pmu_event."""

from enum import IntEnum

AXI1 = 256
"""Offset from an event of AXI port 0 to the same event of port 1."""


class PmuEvent(IntEnum):
    """The events that the generated application counts, and similar ones."""

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
