"""The size of an arena, and its distance from the optimum."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ArenaSize:
    """The bytes of an arena, and a lower bound for any plan of the same steps.

    `bound_bytes` is 0 if unknown.
    """

    bytes: int
    bound_bytes: int = 0

    @property
    def is_optimal(self) -> bool:
        """Whether no plan for the same steps can need fewer bytes, by proof."""
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
