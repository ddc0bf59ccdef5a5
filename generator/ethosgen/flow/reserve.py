"""Reserves memory for other weights, in a plan whose weights are apart from the code.

Vela's scratch depends on the weights, because it contains buffers for their compressed bytes.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Network
from ethosgen.values.plan import Plan, Scratch

RESERVE_PART = 32
LEAST_RESERVE_BYTES = 64
"""The NPU's scratch gets a 32nd more, but at least these bytes."""
_UNIT = 16


def stored_scratches(directory: Path, network: Network) -> Mapping[str, int]:
    """Return a network's scratches in the existing project, to keep its code."""
    from ethosgen.project import is_project, open_project

    known = open_project(directory).networks if is_project(directory) else ()
    scratches = [
        stored.weights.scratches
        for stored in known
        if stored.weights and stored.name == network.name
    ]
    return scratches[0] if scratches else {}


def with_reserve(plan: Plan, known: Mapping[str, int]) -> Plan:
    """Return a plan with its weights apart; scratches have the sizes `known`, or a reserve."""
    scratches = tuple(_reserved(scratch, known) for scratch in plan.scratches)
    return replace(plan, apart=True, scratches=scratches)


def _reserved(scratch: Scratch, known: Mapping[str, int]) -> Scratch:
    if scratch.bytes <= known.get(scratch.name, -1):
        return replace(scratch, bytes=known[scratch.name])
    if not scratch.bytes or scratch.offset is None:
        return scratch  # the fast scratch may already fill its memory
    more = max(LEAST_RESERVE_BYTES, scratch.bytes // RESERVE_PART)
    return replace(scratch, bytes=rounded_up(scratch.bytes + more, _UNIT))
