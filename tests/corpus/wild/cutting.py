"""Finds the smallest part of a random network that still differs, with the same values there."""

from collections.abc import Callable, Sequence
from typing import Any

from ethosgen.frontend.tflite.reader import decode_network
from ethosgen.oracle.pieces import take_apart
from tests.corpus.wild.graph import WildNetwork
from tests.support.networks import NetworkBuilder

Still = Callable[[WildNetwork, list[dict[str, Any]]], bool]


def cut(
    wild: WildNetwork, samples: list[dict[str, Any]], still: Still
) -> tuple[WildNetwork, list[dict[str, Any]]]:
    """Remove operators while `still` is true for the network.

    The output of a removed operator becomes an input with the same value.
    """
    try:
        values = take_apart(decode_network(wild.data, "wild"), samples, 60.0).values
    except Exception:  # no oracle runs one of the operators, so its inputs are unknown
        return wild, samples
    kept = [*range(len(wild.net.operators))]
    best = wild, samples
    size = len(kept)
    while size:
        for first in range(0, len(kept), size):
            fewer = kept[:first] + kept[first + size :]
            if not fewer:
                continue
            part = part_of(wild, fewer)
            inputs = [{part.names[i]: v[i] for i in part.sources} for v in values]
            if still(part.wild, inputs):
                kept, best = fewer, (part.wild, inputs)
                break
        else:
            size //= 2
    return best


class part_of:  # noqa: N801 - reads as a function
    """A network from some operators of another; `sources` are the tensors that it reads there."""

    def __init__(self, whole: WildNetwork, kept: Sequence[int]) -> None:
        net, source = NetworkBuilder("part"), whole.net
        operators = [source.operators[i] for i in kept]
        written = {i for o in operators for i in o.outputs}
        used = sorted({i for o in operators for i in (*o.inputs, *o.outputs, *o.intermediates)})
        net.tensors = list(source.tensors)
        net.operators, net.others = operators, source.others
        self.sources = [
            i
            for i in used
            if i >= 0
            and i not in written
            and source.tensors[i].data is None
            and not source.tensors[i].is_variable
            and not any(i in o.intermediates for o in operators)
        ]
        net.inputs = list(self.sources)
        read = {i for o in operators for i in o.inputs}
        outputs = [i for o in operators for i in o.outputs if i in whole.outputs or i not in read]
        self.names = {i: source.tensors[i].name or "" for i in self.sources}
        net, outputs = _pruned(net, outputs)
        data = net.build(*outputs)
        self.wild = WildNetwork(data, {}, net, tuple(outputs))


def _pruned(net: NetworkBuilder, outputs: Sequence[int]) -> tuple[NetworkBuilder, list[int]]:
    """Return a network without unused tensors."""
    import dataclasses

    ends = {*net.inputs, *outputs}
    used = sorted(
        ends
        | {i for o in net.operators for i in (*o.inputs, *o.outputs, *o.intermediates) if i >= 0}
    )
    place = {index: number for number, index in enumerate(used)} | {-1: -1}
    small = NetworkBuilder(net.name)
    small.tensors = [net.tensors[i] for i in used]
    small.inputs, small.others = [place[i] for i in net.inputs], net.others
    small.operators = [
        dataclasses.replace(
            o,
            inputs=tuple(place[i] for i in o.inputs),
            outputs=tuple(place[i] for i in o.outputs),
            intermediates=tuple(place[i] for i in o.intermediates),
        )
        for o in net.operators
    ]
    return small, [place[i] for i in outputs]
