"""Restore the original order of operators with side effects.

Vela does not support variables or subgraphs. It gets such operators as custom operators, passes
them through, and orders them only by their tensors: it can read a variable before CALL_ONCE has set
it. Their relative order is corrected afterwards.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.payload import CUSTOM_CODE
from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.errors import RefusalError
from ethosgen.values.lives import lives, outgrows, times
from ethosgen.values.network import ABSENT, HANDLE, STATEFUL, Graph, Network, Operator


def stateful_operators(graph: Graph) -> dict[OperatorIndex, str]:
    """Return the operators that run subgraphs or use variables, each with the reason to stay."""
    return {
        OperatorIndex(operator.index): "no Ethos-U runs subgraphs, and variables stay on the CPU"
        for operator in graph.operators
        if operator.code in STATEFUL
    }


def awaited(network: Network) -> dict[int, tuple[int, ...]]:
    """Return, for each operator with effects, tensors that must exist before it runs.

    They are read by the operators before it. Vela gets them as additional inputs, so that it does
    not put operators before and after the effect into one partition.
    """
    graph, waits, before = network.graph, {}, dict[int, None]()
    for operator in graph.operators:
        if not _has_effects(operator, network):
            continue
        mine = [i for i in operator.inputs if i != ABSENT and graph.tensors[i].data is None]
        waits[operator.index] = tuple(i for i in before if i not in mine)
        if operator.code != "VAR_HANDLE":
            before |= dict.fromkeys(i for i in mine if graph.tensors[i].dtype != HANDLE)
    return waits


def in_order(graph: Graph, sources: Mapping[int, int], network: Network, *, placed: bool) -> Graph:
    """Return a residual graph whose operators with effects run in the original order.

    `sources` maps operators to those of the model; `placed` means that Vela placed tensors by its
    own order. Other operators keep their order. Operators that only write variables run as early as
    possible, those that only read them as late as possible. RefusalError if a partition would have
    to run in two parts, or if a partition's tensor would be live when Vela considers its bytes
    free; `outgrown` names such tensors of other operators.
    """
    effects = {
        op.index
        for op in graph.operators
        if op.index in sources and _has_effects(network.graph.operators[sources[op.index]], network)
    }
    if not effects:
        return graph
    concerned = [op for op in graph.operators if op.index in effects]
    wanted = sorted(concerned, key=lambda op: sources[op.index])
    if placed and wanted == concerned:
        return graph  # Vela's order is correct, and fits its placement best
    order = tuple(_merged(graph, wanted))
    if placed:
        _check_lives(graph, order)
    return replace(graph, operators=order)


def _has_effects(operator: Operator, network: Network, depth: int = 0) -> bool:
    """Return whether an operator uses variables, even in nested subgraphs."""
    if operator.code not in STATEFUL or depth > len(network.graphs):
        return False
    if operator.code not in ("IF", "WHILE"):
        return True
    numbers = [int(v) for name, v in operator.options.items() if name.endswith("subgraph_index")]
    return any(
        any(tensor.is_variable for tensor in graph.tensors)
        or any(_has_effects(inner, network, depth + 1) for inner in graph.operators)
        for graph in (network.graphs[n] for n in numbers if 0 <= n < len(network.graphs))
    )


def _merged(graph: Graph, ordered: Sequence[Operator]) -> Iterator[Operator]:
    """Yield all operators, those in `ordered` in that order."""
    waiting, held = list(ordered), {op.index for op in ordered}
    made_later = graph.written

    def run(operator: Operator) -> Operator:
        made_later.difference_update(operator.outputs)
        return operator

    def ready(operator: Operator) -> bool:
        return not made_later.intersection(operator.inputs)

    for operator in graph.operators:
        if operator.index in held:
            continue
        while not ready(operator):
            if not waiting or not ready(waiting[0]):
                raise _refusal("operators before and after using a variable are in one partition")
            yield run(waiting.pop(0))
        yield run(operator)
        while (last := _last_ready_effect(waiting, made_later)) >= 0:
            for _ in range(last + 1):
                yield run(waiting.pop(0))
    yield from waiting


def _last_ready_effect(waiting: Sequence[Operator], made_later: set[int]) -> int:
    """Return the position of the last waiting operator without outputs that can run now, or -1."""
    missing, last = set(made_later), -1
    for position, operator in enumerate(waiting):
        if missing.intersection(operator.inputs):
            break
        missing.difference_update(operator.outputs)
        if not operator.outputs:
            last = position
    return last


def outgrown(graph: Graph, order: Sequence[Operator]) -> frozenset[int]:
    """Return the tensors that are live in this order at steps at which Vela's order frees them."""
    velas, ours = (lives(graph, operators, CUSTOM_CODE) for operators in (graph.operators, order))
    end = times(op.custom_code == CUSTOM_CODE for op in order)[-1]
    return frozenset(i for i, life in ours.items() if outgrows(life, velas[i], end))


def _check_lives(graph: Graph, order: Sequence[Operator]) -> None:
    """Refuse an order in which a partition's tensors would need other addresses."""
    on_npu = [op for op in graph.operators if op.custom_code == CUSTOM_CODE]
    used = {i for op in on_npu for i in (*op.inputs, *op.outputs)}
    for tensor in sorted(outgrown(graph, order) & used):
        name = graph.tensors[tensor].name
        raise _refusal(f"Vela's placement of '{name}' assumes another order of variable accesses")


def _refusal(why: str) -> RefusalError:
    return RefusalError(f"{why}; use --npu none for this network", why)
