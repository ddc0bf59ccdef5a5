"""The security state of a firmware on a processor with TrustZone."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Security(StrEnum):
    """A security state, by Arm's name."""

    SECURE = "secure"
    NON_SECURE = "non-secure"


@dataclass(frozen=True)
class SecureSide:
    """The secure image of a non-secure firmware: its evidence about the run, and its sizes."""

    confirmed: tuple[str, ...]
    flash_bytes: int
    ram_bytes: int

    @property
    def findings(self) -> Mapping[str, str]:
        """The findings by a short title, for people."""
        return {
            "security": f"non-secure; the secure image confirms {', '.join(self.confirmed)}",
            "secure": f"image: flash {self.flash_bytes}, RAM {self.ram_bytes} B",
        }

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "state": Security.NON_SECURE.value,
            "confirmed": list(self.confirmed),
            "secure_flash_bytes": self.flash_bytes,
            "secure_ram_bytes": self.ram_bytes,
        }
