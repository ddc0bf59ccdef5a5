"""The optimizer's changes of a network, in figures."""

from collections.abc import Iterable
from dataclasses import dataclass

from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Network

_WEIGHTED = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV"})
"""Operators whose second input is their weights."""
DEFECT = "a defect of ethosgen; please report it"
"""What a report says about a changed network that computes something else."""


@dataclass(frozen=True)
class Change:
    """One rewrite's changes: the number of things of a kind that it found.

    `kind` is a noun in the singular, `did` the verb: "constant channel", "removed".
    """

    rewrite: str
    kind: str
    did: str
    count: int

    def text(self) -> str:
        """Return "1,641 constant channels removed"."""
        return f"{counted(self.count, self.kind)} {self.did}"


@dataclass(frozen=True)
class Optimization:
    """The changes of a network, and its products and weights before and after.

    `kept` tells why the original network was used despite changes; "" if it was changed.
    """

    changes: tuple[Change, ...]
    macs_before: int
    macs_after: int
    weights_before: int
    weights_after: int
    kept: str = ""

    @property
    def has_fewer_channels(self) -> bool:
        """Whether tensors have fewer channels."""
        return any("channel" in change.kind and change.did == "removed" for change in self.changes)

    @property
    def is_news(self) -> bool:
        """Whether people must know: the network was changed, or changed wrongly."""
        return not self.kept or DEFECT in self.kept

    def text(self) -> str:
        """Return the whole as one line for people."""
        changes = ", ".join(change.text() for change in self.changes)
        if self.kept:
            return f"not changed: {self.kept} (found: {changes})"
        macs = _less("multiplications", self.macs_before, self.macs_after)
        weights = _less("weights", self.weights_before, self.weights_after)
        saved = ", ".join(filter(None, (macs, weights)))
        return f"{changes}: {saved}" if saved else changes


def _less(noun: str, before: int, after: int) -> str:
    """Return "-49 % multiplications", "" for no difference."""
    share = 100 * (after - before) / before if before else 0.0
    return f"{share:+.2g} % {noun}" if share else ""


def merged(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return the changes with those of the same kind added up, in the order of their first."""
    counts: dict[tuple[str, str, str], int] = {}
    for change in changes:
        key = change.rewrite, change.kind, change.did
        counts[key] = counts.get(key, 0) + change.count
    return tuple(Change(*key, count) for key, count in counts.items())


def macs_of(network: Network) -> int:
    """Return the products that an inference adds up; each subgraph counts once."""
    return sum(graph.macs(op) for graph in network.graphs for op in graph.operators)


def weights_of(network: Network) -> int:
    """Return the number of weights of all layers; weights that layers share count once."""
    return sum(
        graph.tensors[index].elements
        for graph in network.graphs
        for index in {
            op.inputs[1]
            for op in graph.operators
            if op.code in _WEIGHTED and len(op.inputs) > 1 and op.inputs[1] != ABSENT
        }
    )
