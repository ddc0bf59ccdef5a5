"""Layers whose weights exceed the SRAM for copies, divided so that each portion has a copy.

A portion computes some of the output's channels. While it does, the weights of the next portion are
copied. A CONCATENATION joins the channels; no sum changes, so every bit stays the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ethosgen.aot.memory.reading import reads_of
from ethosgen.values.multiples import pieces, rounded_up
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor
from ethosgen.values.schedule import FetchRule

CODES = ("CONV_2D", "FULLY_CONNECTED")
AT_A_TIME = 2
"""Copies that exist at the same time: the one that is read, and the next one."""
BLOCK = 4
"""A portion has a multiple of so many channels, because kernels compute several at a time."""


def with_portions(graph: Graph, rule: FetchRule) -> Graph:
    """Return a graph with each layer in portions whose copies a rule allows only then."""
    divided = {op.index: _widths(op, graph, rule) for op in graph.operators}
    if not any(divided.values()):
        return graph
    grown = _Portions(graph)
    for op in graph.operators:
        if divided[op.index]:
            grown.divide(op, divided[op.index])
        else:
            grown.operators.append(op)
    return grown.graph()


def _widths(op: Operator, graph: Graph, rule: FetchRule) -> list[int]:
    """Return the channels of each portion, none for a layer that stays whole."""
    if op.code not in CODES or len(op.outputs) != 1 or not 2 <= len(op.inputs) <= 3:
        return []
    tensors = graph.tensors
    source, weights, target = tensors[op.inputs[0]], tensors[op.inputs[1]], tensors[op.outputs[0]]
    rest = [tensors[i] for i in op.inputs[1:] if i != ABSENT]
    if any(tensor.data is None or tensor.is_packed for tensor in rest):
        return []
    channels, inner = weights.shape[0] if weights.shape else 0, source.shape[-1:]
    is_plain = target.shape[-1:] == (channels,) and weights.dtype == "int8"
    is_plain &= op.code == "FULLY_CONNECTED" or weights.shape[-1:] == inner
    if not is_plain or target.is_variable or weights.bytes <= rule.bytes:
        return []
    room = rule.bytes - target.bytes  # what is joined has another place
    most = room // AT_A_TIME // (weights.bytes // channels) // BLOCK * BLOCK
    if 2 * room < rule.bytes or not most or reads_of((op,), graph) < rule.least_reads:
        return []
    width = rounded_up(pieces(channels, pieces(channels, most)), BLOCK)
    return [min(width, channels - first) for first in range(0, channels, width)]


class _Portions:
    """A graph that grows by portions and the CONCATENATIONs behind them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._tensors = list(graph.tensors)
        self.operators: list[Operator] = []
        self._free = max(op.index for op in graph.operators) + 1

    def graph(self) -> Graph:
        """Return the grown graph."""
        return replace(self._graph, tensors=tuple(self._tensors), operators=tuple(self.operators))

    def divide(self, op: Operator, widths: Sequence[int]) -> None:
        """Add portions of a layer, and the operator that joins them."""
        target, first, parts = self._tensors[op.outputs[0]], 0, []
        for number, width in enumerate(widths, 1):
            inputs = tuple(self._inputs(op, range(first, first + width), number))
            part = replace(target, shape=(*target.shape[:-1], width))
            parts.append(self._tensor(part, number))
            self._add(replace(op, inputs=inputs, outputs=(parts[-1],)))
            first += width
        joined = {"axis": len(target.shape) - 1, "fused_activation_function": "NONE"}
        self._add(Operator(0, "CONCATENATION", tuple(parts), op.outputs, options=joined))

    def _inputs(self, op: Operator, channels: range, number: int) -> Iterator[int]:
        yield op.inputs[0]
        for index in op.inputs[1:]:
            if index == ABSENT:
                yield index
            else:
                yield self._tensor(_slice(self._tensors[index], channels), number)

    def _add(self, op: Operator) -> None:
        self.operators.append(replace(op, index=self._free))
        self._free += 1

    def _tensor(self, tensor: Tensor, number: int) -> int:
        index, name = len(self._tensors), f"{tensor.name}_portion_{number}"
        self._tensors.append(replace(tensor, index=index, name=name))
        return index


def _slice(tensor: Tensor, channels: range) -> Tensor:
    """Return some channels, along the first axis, of weights or a bias."""
    known = tensor.quantization and tensor.quantization.of_channels(channels)
    data = tensor.array()[channels.start : channels.stop].tobytes()
    shape = (len(channels), *tensor.shape[1:])
    return replace(tensor, shape=shape, quantization=known, data=data)
