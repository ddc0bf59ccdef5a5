"""Finds the composites that an NPU or accelerator supports: many at once, each content once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from ethosgen.backend.protocol import Offer
from ethosgen.frontend import source_of
from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor
from ethosgen_relax.executor import Executor

_ANSWERS: dict[tuple[str, float, str, str], str] = {}
"""The answers in this process, by executor, steps, version and content of the network."""


def refusals(networks: Sequence[Network], executor: Executor) -> list[str]:
    """Return, for each network, why the executor cannot run all of it exactly, "" if it can.

    The networks become one network of unconnected parts for Vela, which judges each operator alone.
    """
    version = executor.version
    keys = [(executor.name, executor.steps, version, content_of(n)) for n in networks]
    new = {key: network for key, network in zip(keys, networks, strict=True) if key not in _ANSWERS}
    if new:
        _ANSWERS.update(zip(new, _asked(list(new.values()), executor), strict=True))
    return [_ANSWERS[key] for key in keys]


def content_of(network: Network) -> str:
    """Return a digest of what a network computes, whatever its name."""
    graph = replace(network.graph, name="network")
    nameless = replace(network, name="network", graphs=(graph,), source=None)
    return sha256(source_of(nameless).data).hexdigest()


def _asked(networks: Sequence[Network], executor: Executor) -> list[str]:
    """Ask about networks, none of them known yet."""
    whole = Network("composites", (side_by_side([network.graph for network in networks]),))
    offers = executor.offers(whole)
    answers, first = [], 0
    for network in networks:
        count = len(network.graph.operators)
        own = _computing(network.graph, first, executor)
        answers.append(_refusal(whole.graph, own, offers))
        first += count
    return answers


def _computing(graph: Graph, first: int, executor: Executor) -> list[OperatorIndex]:
    """Return the operators of a part that its executor must run, in the whole's numbering."""
    own = [operator for operator in graph.operators if operator.code not in executor.moves]
    main = [operator for operator in own if not may_stay(operator, graph, executor)]
    return [OperatorIndex(first + operator.index) for operator in main or own]


def may_stay(operator: Operator, graph: Graph, executor: Executor) -> bool:
    """Return whether an operator of a partition may run on the CPU: a move, or a constant clamp."""
    if operator.code in executor.moves:
        return True
    if operator.code not in executor.clamps:
        return False
    bound = graph.tensors[operator.inputs[1]]
    return bound.data is not None and bound.elements == 1


def _refusal(
    graph: Graph, operators: Sequence[OperatorIndex], offers: Mapping[OperatorIndex, Offer]
) -> str:
    """Return the reasons for the refused operators; one that Vela fuses away has no offer."""
    refused = {
        f"{graph.operators[i].code}: {offers[i].refusal}"
        for i in operators
        if i in offers and offers[i].refusal
    }
    if not operators:
        return "it computes nothing, it only moves data"
    if not any(i in offers for i in operators):
        return "nothing is left of it to run there"
    return "; ".join(sorted(refused))


def side_by_side(graphs: Sequence[Graph]) -> Graph:
    """Return one graph of unconnected parts; the names of tensors get the part's number."""
    tensors: list[Tensor] = []
    operators: list[Operator] = []
    inputs: list[int] = []
    outputs: list[int] = []
    for number, graph in enumerate(graphs):
        first = len(tensors)

        def moved(indices: Sequence[int], by: int = first) -> tuple[int, ...]:
            return tuple(index if index == ABSENT else index + by for index in indices)

        tensors += [
            replace(tensor, index=tensor.index + first, name=f"{number}/{tensor.name}")
            for tensor in graph.tensors
        ]
        operators += [
            replace(
                operator,
                index=len(operators) + operator.index,
                inputs=moved(operator.inputs),
                outputs=moved(operator.outputs),
            )
            for operator in graph.operators
        ]
        inputs += moved(graph.inputs)
        outputs += moved(graph.outputs)
    return Graph("composites", tuple(tensors), tuple(operators), tuple(inputs), tuple(outputs))
