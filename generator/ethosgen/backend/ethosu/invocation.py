"""A partition in the templates: registers, and the sizes of its memories."""

from collections.abc import Mapping
from typing import Any

from ethosgen.backend.ethosu.stream import (
    BASES,
    FAST_BASE,
    Base,
    RegionKind,
    read_only,
    scratch_bytes,
    stream_of,
)
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.plan import IoStyle, Partition, Plan


def partition_facts(
    plan: Plan, partition: Partition, ports: Mapping[str, int], arena_bytes: int
) -> Mapping[str, Any]:
    """Return QCONFIG, REGIONCFG, the bytes after each base pointer, and the weights' base pointer.

    `ports` maps each part of the firmware to the AXI port of its memory; it has "fast" if fast
    scratch has its own memory. UnsupportedError if a command stream uses another base pointer for
    that than Vela does.
    """
    used = stream_of(partition).bases
    others = used[:FAST_BASE] + used[FAST_BASE + 1 :]
    if "fast" in ports and RegionKind.SCRATCH_FAST in others:
        raise UnsupportedError(f"{partition.name} has its fast scratch at an unknown BASEP")
    bases = [*used, *[None] * (BASES - len(used))]
    return {
        "qconfig": 2 * ports["commands"],
        "regioncfg": sum(_region(plan, base, ports) << 2 * i for i, base in enumerate(bases)),
        "base_bytes": [_base_bytes(plan, base, arena_bytes) for base in bases],
        "weights_base": next((i for i, b in enumerate(used) if b is RegionKind.READ_ONLY), None),
    }


def _region(plan: Plan, base: Base | None, ports: Mapping[str, int]) -> int:
    """Return a region's REGIONCFG field: 0 and 1 are port 0's two AXI limits, 2 and 3 port 1's.

    Each kind of traffic has its own limit, so that an application can tune them separately: weights
    use port 1's second limit, the arena port 0's first.
    """
    if base is None:
        return 0
    if base is RegionKind.READ_ONLY:
        return 2 * ports["weights"] + 1
    if base is RegionKind.SCRATCH:
        return 2 * ports["arena"]
    if base is RegionKind.SCRATCH_FAST:
        return 2 * ports.get("fast", ports["arena"]) + 1
    ends = (*plan.residual.inputs, *plan.residual.outputs) if plan.io is IoStyle.CALLER else ()
    return 2 * ports["io" if base in ends else "arena"]


def _base_bytes(plan: Plan, base: Base | None, arena_bytes: int) -> int:
    if base is None:
        return 0
    if base is RegionKind.READ_ONLY:
        return len(read_only(plan))
    if base is RegionKind.SCRATCH:
        return arena_bytes
    if base is RegionKind.SCRATCH_FAST:
        return scratch_bytes(plan, base) or arena_bytes
    return plan.buffer_bytes(plan.residual.tensors[int(base)])
