"""Keep single operators on the CPU: Vela's own option selects operators only by type.

An operator that must stay is renamed to a custom operator, with its index in the name. No NPU
supports that, so Vela passes it through, and its real name is restored afterwards.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.offload.bools import hidden_ends
from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.dialect import CUSTOM
from ethosgen.values.network import ABSENT, Graph, Network, Operator, Tensor

_MARK = "ethosgen_keep_"
_MARKED = re.compile(rf"{_MARK}(\d+)")


def mark(
    network: Network,
    keep: Collection[int],
    awaited: Mapping[int, Sequence[int]] | None = None,
    *,
    is_apart: bool = False,
) -> Network:
    """Return the model with the operators of the entry graph in `keep` renamed to custom operators.

    `awaited` are tensors that some of them get as additional inputs, only to keep the order. bool
    inputs and outputs of the network that only these operators use become int8: Vela would convert
    them on the NPU. Other graphs are omitted, since the operators that call them stay. With
    `is_apart` tensors inside the CPU's part have one element, so Vela plans no memory for them.
    """
    graph, ends, awaited = network.graph, hidden_ends(network.graph, keep), awaited or {}
    inner = inner_tensors(graph, keep) if is_apart else frozenset()
    if not keep and not ends:
        return network
    operators = tuple(
        _marked(op, awaited.get(op.index, ())) if op.index in keep else op for op in graph.operators
    )
    tensors = tuple(replace(t, dtype="int8") if t.index in ends else t for t in graph.tensors)
    tensors = tuple(replace(t, shape=(1,)) if t.index in inner else t for t in tensors)
    return network.edited(replace(graph, tensors=tensors, operators=operators))


def inner_tensors(graph: Graph, keep: Collection[int]) -> frozenset[int]:
    """Return the tensors that only operators in `keep` write and read."""
    ours = {i for op in graph.operators if op.index in keep for i in op.outputs}
    others = {i for op in graph.operators if op.index not in keep for i in op.inputs}
    variables = {i for i in ours if graph.tensors[i].is_variable}
    return frozenset(ours - others - variables - {*graph.inputs, *graph.outputs})


def _marked(operator: Operator, awaited: Sequence[int]) -> Operator:
    inputs = (*operator.inputs, *awaited)
    name = f"{_MARK}{operator.index}"
    return Operator(operator.index, CUSTOM, inputs, operator.outputs, custom_code=name)


def unmark(network: Network, original: Network, *, is_apart: bool = False) -> Network:
    """Return Vela's output for a marked model, with the operators' real names and options.

    Inputs and outputs that were bool are bool again, and true constants are 1 where Vela wrote -1.
    """
    graph = _with_inner_shapes(network, original) if is_apart else network.graph
    operators = tuple(_restored(op, original.graph.operators) for op in graph.operators)
    ours, theirs = (*graph.inputs, *graph.outputs), original.graph
    ends = zip(ours, (*theirs.inputs, *theirs.outputs), strict=False)
    bools = {i for i, j in ends if theirs.tensors[j].dtype == "bool"}
    tensors = tuple(
        replace(t, dtype="bool") if t.index in bools else _with_plain_bools(t)
        for t in graph.tensors
    )
    restored = replace(graph, operators=operators, tensors=tensors)
    return network.edited(restored, *network.graphs[1:])


def _with_inner_shapes(network: Network, original: Network) -> Graph:
    """Return Vela's graph with the shapes of tensors inside the CPU's part."""
    graph, theirs, marked = network.graph, original.graph, marked_operators(network)
    inner, tensors = inner_tensors(theirs, set(marked.values())), list(graph.tensors)
    for index, source in marked.items():
        outputs = zip(graph.operators[index].outputs, theirs.operators[source].outputs, strict=True)
        for ours, other in outputs:
            if other in inner:
                tensors[ours] = replace(tensors[ours], shape=theirs.tensors[other].shape)
    return replace(graph, tensors=tuple(tensors))


def _with_plain_bools(tensor: Tensor) -> Tensor:
    if tensor.dtype != "bool" or tensor.data is None:
        return tensor
    return replace(tensor, data=bytes(byte != 0 for byte in tensor.data))


def marked_operators(network: Network) -> dict[int, int]:
    """Return the original operator of each marked one that Vela passed through."""
    return {
        operator.index: int(marked[1])
        for operator in network.graph.operators
        if (marked := _MARKED.fullmatch(operator.custom_code or ""))
    }


def with_absent_inputs(
    graph: Graph, original: Graph, sources: Mapping[ResidualIndex, OperatorIndex]
) -> Graph:
    """Return a residual graph whose operators have their optional inputs at TFLite's positions.

    Vela removes absent inputs, which shifts later ones. `sources` maps operators of the residual
    graph to the original ones.
    """
    operators = list(graph.operators)
    for index, source in sources.items():
        theirs = original.operators[source]
        inputs = iter(operators[index].inputs)
        present = sum(i != ABSENT for i in theirs.inputs)
        if ABSENT in theirs.inputs and present == len(operators[index].inputs):
            filled = tuple(ABSENT if i == ABSENT else next(inputs) for i in theirs.inputs)
            operators[index] = replace(operators[index], inputs=filled)
    return replace(graph, operators=tuple(operators))


def _restored(operator: Operator, originals: Sequence[Operator]) -> Operator:
    marked = _MARKED.fullmatch(operator.custom_code or "")
    if marked is None:
        return operator
    theirs = originals[int(marked[1])]
    present = sum(i != ABSENT for i in theirs.inputs)
    return replace(
        operator,
        inputs=operator.inputs[:present],
        code=theirs.code,
        custom_code=theirs.custom_code,
        options=theirs.options,
        custom_options=theirs.custom_options,
        version=theirs.version,
    )
