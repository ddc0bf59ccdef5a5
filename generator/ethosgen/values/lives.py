"""Lifetimes of tensors, on a clock common to a backend's order of operators and ours.

A backend's compiler reuses bytes of scratch according to its own order. Partitions run in the same
order in both, so they are the clock: partition k runs at 2k + 1, and CPU operators just before it
at 2k.
"""

from collections.abc import Iterable, Sequence

from ethosgen.values.network import Graph, Operator

Life = tuple[int, int]
"""The times of the first write and of the last read."""


def times(on_npu: Iterable[bool]) -> list[int]:
    """Return the time of each step, then the time of the end; `on_npu` marks the NPU's steps."""
    numbers, partitions = [], 0
    for is_partition in on_npu:
        numbers.append(2 * partitions + is_partition)
        partitions += is_partition
    return [*numbers, 2 * partitions]


def lives(graph: Graph, operators: Sequence[Operator], custom_code: str) -> dict[int, Life]:
    """Return the lifetime of each tensor if a graph's operators run in this order.

    Operators with the custom code represent partitions. Inputs exist from the start, and outputs
    are read at the end.
    """
    *clock, end = times(op.custom_code == custom_code for op in operators)
    first, last = dict.fromkeys(graph.inputs, 0), dict.fromkeys(graph.inputs, 0)
    for now, operator in zip(clock, operators, strict=True):
        for tensor in operator.outputs:
            first.setdefault(tensor, now)
            last[tensor] = now
        for tensor in operator.inputs:
            last[tensor] = now
    last.update(dict.fromkeys(graph.outputs, end))
    return {i: (first.get(i, 0), last[i]) for i in last if i >= 0}


def outgrows(life: Life, planned: Life, end: int) -> bool:
    """Return whether a tensor is live when its backend could have reused its bytes for another.

    Before the first partition and after the last one, at `end`, the NPU keeps nothing in scratch.
    """
    first, last = max(life[0], 1), min(life[1], end - 1)
    return first <= last and not (planned[0] <= first and last <= planned[1])
