"""The NPU's cycles, operator by operator: Vela's own estimate (the table perf of Regor's database).

The CPU's estimate, with which they are compared, is in ethosgen.aot.cost.
"""

from collections.abc import Mapping, Sequence

from ethosgen.backend.ethosu.offload.vela import Row

INVOKE = 300
"""Cycles of one more command stream: 213 instructions of the driver, counted on QEMU, and a guess
for the NPU's reset, its first fetch and the interrupt."""


def npu_cycles(tables: Mapping[str, Sequence[Row]], count: int, whole: int) -> list[int]:
    """Return Vela's estimate for each of the original's operators, 0 where it has none.

    Vela's figures for single operators ignore that weights arrive while another operator runs; they
    are scaled so that together they are `whole`, its figure for all of them.
    """
    cycles = [0.0] * count
    for row in tables.get("perf", ()):
        source = int(row.get("source_id") or 0) - 1
        if 0 <= source < count:
            cycles[source] += float(row.get("op_cycles") or 0)
    scale = whole / sum(cycles) if any(cycles) else 1.0
    return [round(scale * cycle) for cycle in cycles]
