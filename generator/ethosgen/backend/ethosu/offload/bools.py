"""Decide which operators with bool tensors can run on the NPU.

Vela computes with -1 for true, and converts the network's inputs and outputs on the NPU
(GraphIrOptimiser::ConvertBool8Tensors). U55 and U65 cannot run the conversion, and Vela refuses the
whole network; so there such operators stay on the CPU. On U85 it converts only the network's ends,
and for all their users: a bool between the NPU and the CPU would be -1 on the CPU, and an operator
that reads a bool output of the network gets 1. So operators around such a tensor stay together.
"""

from collections.abc import Collection, Iterator

from ethosgen.values.allocation import OperatorIndex
from ethosgen.values.network import ABSENT, Graph

_NO_BOOL = "the NPU does not compute in bool (tensor '{}')"


def bool_ends(graph: Graph) -> frozenset[int]:
    """Return the bool inputs and outputs of a network."""
    ends = (*graph.inputs, *graph.outputs)
    return frozenset(i for i in ends if graph.tensors[i].dtype == "bool")


def hidden_ends(graph: Graph, staying: Collection[int]) -> frozenset[int]:
    """Return the bool inputs and outputs that only operators in `staying` use."""
    offered = {
        i for op in graph.operators if op.index not in staying for i in (*op.inputs, *op.outputs)
    }
    return bool_ends(graph) - offered


def on_bool_ends(graph: Graph, operators: Collection[OperatorIndex]) -> frozenset[OperatorIndex]:
    """Return the operators, of the given ones, that use a bool input or output of the network.

    Where such an operator stays on the CPU without a mark, Vela has converted its bools to -1.
    """
    ends = bool_ends(graph)
    return frozenset(
        index
        for index in operators
        if not ends.isdisjoint((*graph.operators[index].inputs, *graph.operators[index].outputs))
    )


def beside_bools(
    graph: Graph, staying: Collection[int], *, computes: bool
) -> dict[OperatorIndex, str]:
    """Return the operators that must stay because of bool tensors, each with the reason.

    `staying` are operators that stay anyway. `computes` means that the NPU computes in bool.
    """
    if not computes:
        return {
            OperatorIndex(op.index): _NO_BOOL.format(graph.tensors[index].name)
            for op in graph.operators
            for index in bool_ends(graph).intersection((*op.inputs, *op.outputs))
        }
    users = _users(graph)
    reasons: dict[OperatorIndex, str] = {}
    for index in _read_outputs(graph):
        reasons |= dict.fromkeys(
            users[index],
            f"Vela converts the bool output '{graph.tensors[index].name}' before others read it",
        )
    waiting = [*staying, *reasons]
    while waiting:
        operator = waiting.pop()
        for index in (i for i, ops in users.items() if operator in ops):
            new = [i for i in users[index] if i not in staying and i not in reasons]
            name = graph.tensors[index].name
            reasons |= dict.fromkeys(new, f"the CPU also uses '{name}', where Vela's true is -1")
            waiting += new
    return {index: reason for index, reason in reasons.items() if index not in staying}


def _users(graph: Graph) -> dict[int, list[OperatorIndex]]:
    """Return the operators that read or write each bool tensor that is not a constant."""
    users: dict[int, list[OperatorIndex]] = {}
    for op in graph.operators:
        for index in dict.fromkeys((*op.inputs, *op.outputs)):
            if index == ABSENT:
                continue
            tensor = graph.tensors[index]
            if tensor.dtype == "bool" and tensor.data is None:
                users.setdefault(index, []).append(OperatorIndex(op.index))
    return users


def _read_outputs(graph: Graph) -> Iterator[int]:
    read = {i for op in graph.operators for i in op.inputs}
    yield from sorted(bool_ends(graph) & read & graph.written & set(graph.outputs))
