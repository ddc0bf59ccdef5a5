"""The operators that must stay on the CPU, by their index in the network or in the residual graph.

The two count differently: a type checker tells them apart.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NewType, TypeVar

OperatorIndex = NewType("OperatorIndex", int)
"""The index of an operator of the network."""
ResidualIndex = NewType("ResidualIndex", int)
"""The index of an operator of the residual graph, where a partition is one operator."""
Index = TypeVar("Index", bound=int)


@dataclass(frozen=True)
class Kept:
    """Why an operator must stay on the CPU although the NPU supports it.

    `erratum` names the erratum that keeps it there, "" if none does. `everywhere` keeps it off the
    wrapped accelerators, too.
    """

    reason: str
    erratum: str = ""
    everywhere: bool = False


class Allocation(Mapping[Index, Kept]):
    """The operators that must stay on the CPU, by index in one graph, each with the reason."""

    def __init__(self, reasons: Mapping[Index, Kept] | None = None) -> None:
        self._reasons = dict(reasons or {})

    def __getitem__(self, index: Index) -> Kept:
        return self._reasons[index]

    def __iter__(self) -> Iterator[Index]:
        return iter(self._reasons)

    def __len__(self) -> int:
        return len(self._reasons)

    def __hash__(self) -> int:
        return hash(frozenset(self._reasons.items()))

    def __repr__(self) -> str:
        return f"Allocation({self._reasons})"

    def __or__(self, more: Mapping[Index, Kept]) -> "Allocation[Index]":
        """Return both; for operators in both, `more` has the reasons."""
        return Allocation({**self._reasons, **more})

    @property
    def everywhere(self) -> "Allocation[Index]":
        """Those that wrapped accelerators must not run either."""
        return Allocation({index: why for index, why in self.items() if why.everywhere})

    def in_residual(self, origins: Mapping[ResidualIndex, Index]) -> "Allocation[ResidualIndex]":
        """Return the same operators by their indices in a residual graph, as `origins` maps it."""
        return Allocation({ours: self[whose] for ours, whose in origins.items() if whose in self})


FREE: Allocation[OperatorIndex] = Allocation()
"""No operator must stay on the CPU."""
