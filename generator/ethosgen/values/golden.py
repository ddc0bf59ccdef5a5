"""The golden output of a network's self-test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GoldenCrc:
    """The CRC-32 of an oracle's outputs for the known input; `oracle` is its title.

    Without one, `crc` is None, and `absent` says why.
    """

    crc: int | None
    oracle: str = ""
    absent: str = ""


NO_GOLDEN = GoldenCrc(None, absent="no oracle was asked about the known input")
