"""Applies rewrites until none finds anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.optimizer.registry import REWRITES
from ethosgen.optimizer.rewrites import Rewrite
from ethosgen.values.network import Network
from ethosgen.values.optimization import Change, Optimization, macs_of, merged, weights_of

ROUNDS = 20
"""Most rounds of all rewrites; each round follows from the last, so networks need few."""


@dataclass(frozen=True)
class Optimized:
    """A network with the same outputs, and its differences from the original."""

    network: Network
    facts: Optimization


def optimize(network: Network, rewrites: Sequence[Rewrite] = REWRITES) -> Optimized | None:
    """Return the optimized network, None if no rewrite finds anything.

    It has the original's name, source, inputs and outputs.
    """
    changed, changes = network, list[Change]()
    for _ in range(ROUNDS):
        before = changed
        for rewrite in rewrites:
            rewritten = rewrite.apply(changed)
            if rewritten is not None:
                changed = rewritten.network
                changes += rewritten.changes
        if changed is before:
            break
    if changed is network:
        return None
    facts = Optimization(
        merged(changes),
        macs_of(network),
        macs_of(changed),
        weights_of(network),
        weights_of(changed),
    )
    return Optimized(changed, facts)
