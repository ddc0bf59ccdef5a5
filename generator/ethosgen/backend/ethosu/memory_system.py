"""The memories that Vela assumes at the AXI ports, and the burst lengths for them."""

from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_MODE = "shared_sram"
"""The usual mode of a Cortex-M board: constants in flash, the rest in an SRAM that CPU and NPU
share."""

MEMORY_MODES: Mapping[str, str] = {
    "sram_only": "Sram_Only",
    "shared_sram": "Shared_Sram",
    "dedicated_sram": "Dedicated_Sram",
}
"""Vela's names of the memory modes, which are sections of its vela.ini."""


@dataclass(frozen=True)
class AreaPorts:
    """The AXI ports of Vela's const_mem_area and arena_mem_area; the cache uses port 0."""

    constants: int
    arena: int


AREA_PORTS: Mapping[str, AreaPorts] = {
    "sram_only": AreaPorts(0, 0),
    "shared_sram": AreaPorts(1, 0),
    "dedicated_sram": AreaPorts(1, 1),
}
"""The memory modes in vela.ini."""


@dataclass(frozen=True)
class SystemConfig:
    """A section of vela.ini, and its burst_length of the memories at ports 0 and 1."""

    name: str
    burst_bytes: tuple[int, int]


_U55 = SystemConfig("Ethos_U55_High_End_Embedded", (32, 128))
_U65 = SystemConfig("Ethos_U65_Embedded", (32, 128))
_U85 = SystemConfig("Ethos_U85_SYS_Flash_High", (64, 128))

SYSTEM_CONFIGS: Mapping[tuple[str, str], SystemConfig] = {
    ("u55", "sram_only"): _U55,
    ("u55", "shared_sram"): _U55,
    ("u65", "sram_only"): _U65,
    ("u65", "shared_sram"): _U65,
    ("u65", "dedicated_sram"): SystemConfig("Ethos_U65_High_End", (32, 128)),
    ("u85", "sram_only"): _U85,
    ("u85", "shared_sram"): _U85,
    ("u85", "dedicated_sram"): SystemConfig("Ethos_U85_SYS_DRAM_Mid", (64, 128)),
}
"""Vela's system configuration for a product in a memory mode; a missing one means that the product
lacks the mode. Port 1 of the U55 is read-only, so it cannot reach an arena."""

_DRIVER_BYTES: Mapping[str, int] = {"u55": 64, "u65": 64, "u85": 256}
"""The size at which Arm's driver splits bursts by default (hal_ethos_u ethosu_config_*.h)."""
_MAX_BEATS: Mapping[int, int] = {64: 0, 128: 1, 256: 2}
"""Value of the register field max_beats for each size at which bursts are split."""


def max_beats(product: str, mode: str) -> tuple[int, int]:
    """Return max_beats for ports 0 and 1; bursts are never shorter than in Arm's driver."""
    shortest = _DRIVER_BYTES[product]
    lengths = SYSTEM_CONFIGS[product, mode].burst_bytes
    first, second = (max(length, shortest) for length in lengths)
    return _MAX_BEATS[first], _MAX_BEATS[second]
