"""The choice of a device for each call, where an accelerator has several."""

from collections.abc import Sequence

from ethosgen.backend.wrapped.folding import Taken
from ethosgen.values.network import Graph


def choose_instances(graph: Graph, taken: Sequence[Taken], count: int) -> list[int]:
    """Return the number of each call's device, so that independent calls run on different ones.

    A call stays on a device whose last call it depends on anyway; else it gets the device that is
    free first. Where cycles are unknown, each call counts the same.
    """
    ends: dict[int, int] = {}
    """By tensor, when the calls that it depends on have ended."""
    needs: dict[int, frozenset[int]] = {}
    """By tensor, the calls that it depends on."""
    by_last = {take.match.site.operators[-1].index: n for n, take in enumerate(taken)}
    inside = {op.index for take in taken for op in take.match.site.operators[:-1]}
    last: list[int | None] = [None] * count
    free = [0] * count
    chosen = [0] * len(taken)
    for operator in graph.operators:
        if operator.index in inside:
            continue
        number = by_last.get(operator.index)
        members = (operator,) if number is None else taken[number].match.site.operators
        reads = {i for op in members for i in op.inputs}
        before = frozenset[int]().union(*(needs.get(i, frozenset()) for i in reads))
        ready = max((ends.get(i, 0) for i in reads), default=0)
        if number is not None:
            follows = [i for i, call in enumerate(last) if call in before]
            among = follows or range(count)
            # Of several that it depends on, the one that ends last is free by then in any case.
            place = (
                max(among, key=free.__getitem__) if follows else min(among, key=free.__getitem__)
            )
            ready = max(ready, free[place]) + max(taken[number].cycles or 0, 1)
            chosen[number], last[place], free[place] = place, number, ready
            before |= {number}
        for tensor in operator.outputs:
            ends[tensor], needs[tensor] = ready, before
    return chosen
