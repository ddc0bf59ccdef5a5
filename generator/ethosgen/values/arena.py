"""The size of an arena, and how far it is from the best."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ArenaSize:
    """The bytes of an arena, and those that no plan for the same steps goes below.

    `bound_bytes` is 0 where nothing is known.
    """

    bytes: int
    bound_bytes: int = 0

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved that no plan for the same steps needs fewer bytes."""
        return self.bytes == self.bound_bytes

    def text(self) -> str:
        """Return "optimal", "at most 1.2 % above the optimum", or "" if nothing is known."""
        if self.is_optimal:
            return "optimal"
        if not self.bound_bytes:
            return ""
        return f"at most {100 * self.bytes / self.bound_bytes - 100:.2g} % above the optimum"

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""
        return {
            "bytes": self.bytes,
            "bound_bytes": self.bound_bytes,
            "is_optimal": self.is_optimal,
        }
