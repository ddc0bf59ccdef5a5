"""A rewrite: a change of a network that keeps every bit of its outputs."""

from collections.abc import Callable
from dataclasses import dataclass

from ethosgen.values.network import Network
from ethosgen.values.optimization import Change


@dataclass(frozen=True)
class Rewritten:
    """A network after a rewrite, and what the rewrite did."""

    network: Network
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Rewrite:
    """A rewrite, with the condition under which it keeps every bit.

    `apply` returns None where the condition holds nowhere, or where nothing would change. It leaves
    the network's inputs and outputs as they are, and operators that it does not know.
    """

    name: str
    condition: str
    apply: Callable[[Network], Rewritten | None]
