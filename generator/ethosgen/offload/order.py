"""Operators with effects beside their outputs, in the order of the file.

Vela knows no variables and no subgraphs. It is shown such operators as custom ones, passes them
through, and orders them by their tensors alone: a variable may come out read before CALL_ONCE has
set it. Their order among each other is put right afterwards.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ethosgen.errors import UnsupportedError
from ethosgen.flatbuffer import NPU_CUSTOM_CODE
from ethosgen.model import STATEFUL, Graph, Operator


def stateful_operators(graph: Graph) -> dict[int, str]:
    """Return the operators that run subgraphs or use variables, each with the reason to stay."""
    return {
        operator.index: "no Ethos-U runs subgraphs or knows variables"
        for operator in graph.operators
        if operator.code in STATEFUL
    }


def in_order(graph: Graph, sources: Mapping[int, int], *, placed: bool) -> Graph:
    """Return a residual graph whose stateful operators run in the order of the original's.

    `sources` maps them to the original operators; `placed` says that Vela placed tensors by its own
    order. Others keep their order, and what is only written runs as early as it can, what is only
    read as late. UnsupportedError where that would keep a tensor alive across a partition for which
    Vela believes its place free.
    """
    stateful = sorted(
        (op for op in graph.operators if op.code in STATEFUL), key=lambda op: sources[op.index]
    )
    if not stateful:
        return graph
    order = tuple(_merged(graph, stateful))
    if placed:
        _check_lives(graph, order)
    return replace(graph, operators=order)


def _merged(graph: Graph, stateful: Sequence[Operator]) -> Iterator[Operator]:
    """Yield all operators, the stateful ones in their order."""
    waiting = list(stateful)
    made_later = {i for op in graph.operators for i in op.outputs}

    def run(operator: Operator) -> Operator:
        made_later.difference_update(operator.outputs)
        return operator

    def ready(operator: Operator) -> bool:
        return not made_later.intersection(operator.inputs)

    for operator in graph.operators:
        if operator.code in STATEFUL:
            continue
        while not ready(operator):
            yield run(waiting.pop(0))
        yield run(operator)
        while (last := _last_ready_effect(waiting, made_later)) >= 0:
            for _ in range(last + 1):
                yield run(waiting.pop(0))
    yield from waiting


def _last_ready_effect(waiting: Sequence[Operator], made_later: set[int]) -> int:
    """Return how far the waiting operators can run now up to one that makes no tensor, or -1."""
    missing, last = set(made_later), -1
    for position, operator in enumerate(waiting):
        if missing.intersection(operator.inputs):
            break
        missing.difference_update(operator.outputs)
        if not operator.outputs:
            last = position
    return last


def _check_lives(graph: Graph, order: Sequence[Operator]) -> None:
    """Refuse an order in which a tensor lives in a partition where in Vela's it does not."""
    before, after = _lives(graph.operators), _lives(order)
    for tensor, partitions in after.items():
        if partitions - before.get(tensor, frozenset()):
            raise UnsupportedError(
                f"Vela places '{graph.tensors[tensor].name}' as if variables were used in another "
                "order; use --io caller, which leaves its place to us"
            )


def _lives(operators: Sequence[Operator]) -> dict[int, frozenset[int]]:
    """Return the partitions that run while a tensor of a stateful operator is alive."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, operator in enumerate(operators):
        for tensor in operator.outputs:
            first[tensor] = place
        for tensor in operator.inputs:
            last[tensor] = place
    concerned = {i for op in operators if op.code in STATEFUL for i in (*op.inputs, *op.outputs)}
    return {
        tensor: frozenset(
            op.index
            for op in operators[first[tensor] : last.get(tensor, first[tensor]) + 1]
            if op.custom_code == NPU_CUSTOM_CODE
        )
        for tensor in concerned
        if tensor in first
    }
