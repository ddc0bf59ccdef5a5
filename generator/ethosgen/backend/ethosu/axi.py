"""The NPU's AXI ports: how long bursts are, by the memories that Vela assumes behind them."""

from collections.abc import Mapping

BURST_BYTES: Mapping[str, tuple[int, int]] = {
    "Ethos_U55_High_End_Embedded": (32, 128),
    "Ethos_U65_Embedded": (32, 128),
    "Ethos_U65_High_End": (32, 128),
    "Ethos_U85_SYS_Flash_High": (64, 128),
    "Ethos_U85_SYS_DRAM_Mid": (64, 128),
}
"""burst_length of the memory at port 0 and 1, by Vela's system configuration (its vela.ini)."""

_DRIVER_BYTES: Mapping[str, int] = {"u55": 64, "u65": 64, "u85": 256}
"""Where Arm's driver splits bursts by default (hal_ethos_u ethosu_config_*.h)."""
_MAX_BEATS: Mapping[int, int] = {64: 0, 128: 1, 256: 2}
"""The register's field max_beats, by where bursts are split."""


def max_beats(product: str, system_config: str) -> tuple[int, int]:
    """Return the field max_beats for port 0 and 1: never shorter than Arm's driver has it."""
    shortest = _DRIVER_BYTES[product]
    first, second = (max(length, shortest) for length in BURST_BYTES[system_config])
    return _MAX_BEATS[first], _MAX_BEATS[second]
