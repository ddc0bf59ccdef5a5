"""The NPU's AXI ports: burst lengths, by the memories that Vela assumes at them."""

from collections.abc import Mapping

BURST_BYTES: Mapping[str, tuple[int, int]] = {
    "Ethos_U55_High_End_Embedded": (32, 128),
    "Ethos_U65_Embedded": (32, 128),
    "Ethos_U65_High_End": (32, 128),
    "Ethos_U85_SYS_Flash_High": (64, 128),
    "Ethos_U85_SYS_DRAM_Mid": (64, 128),
}
"""burst_length of the memories at ports 0 and 1, by Vela's system configuration (vela.ini)."""

_DRIVER_BYTES: Mapping[str, int] = {"u55": 64, "u65": 64, "u85": 256}
"""The size at which Arm's driver splits bursts by default (hal_ethos_u ethosu_config_*.h)."""
_MAX_BEATS: Mapping[int, int] = {64: 0, 128: 1, 256: 2}
"""The register field max_beats, by the size at which bursts are split."""


def max_beats(product: str, system_config: str) -> tuple[int, int]:
    """Return the field max_beats for ports 0 and 1: never shorter than in Arm's driver."""
    shortest = _DRIVER_BYTES[product]
    first, second = (max(length, shortest) for length in BURST_BYTES[system_config])
    return _MAX_BEATS[first], _MAX_BEATS[second]
