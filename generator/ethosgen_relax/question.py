"""Asks Vela which composites an NPU supports: many at once, and each content once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from ethosgen import aot
from ethosgen.backend import compiler_of
from ethosgen.backend.protocol import DivisionTask, Offer
from ethosgen.frontend import source_of
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor
from ethosgen.values.plan import IoStyle
from ethosgen.verdict.errata import errata_of

_ANSWERS: dict[tuple[str, str, str], str] = {}
"""Vela's answers in this process, by NPU, version of Vela and content of the network."""


def refusals(networks: Sequence[Network], accelerator: Accelerator) -> list[str]:
    """Return for each network why the NPU cannot run all of it exactly, "" where it can.

    The networks become one of unconnected parts for Vela, which judges each operator alone.
    """
    version = compiler_of(accelerator).compiler_version()
    keys = [(accelerator.name, version, content_of(network)) for network in networks]
    new = {key: network for key, network in zip(keys, networks, strict=True) if key not in _ANSWERS}
    if new:
        _ANSWERS.update(zip(new, _asked(list(new.values()), accelerator), strict=True))
    return [_ANSWERS[key] for key in keys]


def content_of(network: Network) -> str:
    """Return a digest of what a network computes."""
    nameless = replace(network, name="network", source=None)
    return sha256(source_of(nameless).data).hexdigest()


def _asked(networks: Sequence[Network], accelerator: Accelerator) -> list[str]:
    """Ask Vela and the errata about networks of which none is known yet."""
    whole = Network("composites", (side_by_side([network.graph for network in networks]),))
    task = DivisionTask(whole, accelerator, IoStyle.ARENA, aot)
    offers = compiler_of(accelerator).offers(task, errata_of(task))
    answers, first = [], 0
    for network in networks:
        count = len(network.graph.operators)
        own = [OperatorIndex(i) for i in range(first, first + count)]
        answers.append(_refusal(whole.graph, own, offers))
        first += count
    return answers


def _refusal(
    graph: Graph, operators: Sequence[OperatorIndex], offers: Mapping[OperatorIndex, Offer]
) -> str:
    """Return the reasons for the refused operators; one that Vela fuses away has no offer."""
    refused = {
        f"{graph.operators[i].code}: {offers[i].refusal}"
        for i in operators
        if i in offers and offers[i].refusal
    }
    if not any(i in offers for i in operators):
        return "nothing is left of it to run on the NPU"
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
