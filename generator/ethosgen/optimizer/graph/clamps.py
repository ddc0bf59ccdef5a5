"""The rewrite that lets an operator apply the activation after it."""

from collections.abc import Iterator
from dataclasses import replace

from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import Graph, Network, Operator

NAME = "fused-activations"
OPTION = "fused_activation_function"
_ACTIVATIONS = frozenset({"RELU", "RELU6", "RELU_N1_TO_1"})
_MAKERS = frozenset({
    "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD", "SUB", "MUL", "AVERAGE_POOL_2D",
    "MAX_POOL_2D",
})  # fmt: skip
"""Operators whose activation TensorFlow Lite Micro and LiteRT apply by the same rule."""
_QUANTIZED = frozenset({"int8", "uint8", "int16"})


def fuse(network: Network) -> Rewritten | None:
    """Give operators the activation that is the only reader of their output."""
    return in_each_graph(network, _fused, NAME, "activation", "fused")


def _fused(graph: Graph) -> tuple[Graph, int]:
    pairs, edit = list(_pairs(graph)), GraphEdit(graph)
    for maker, activation in pairs:
        options = {**maker.options, OPTION: activation.code}
        fused = replace(maker, outputs=activation.outputs, options=options)
        edit.operators[maker.index] = fused
        del edit.operators[activation.index]
    return edit.done(), len(pairs)


def _pairs(graph: Graph) -> Iterator[tuple[Operator, Operator]]:
    """Yield each operator without an activation, and the activation that is its only reader."""
    for maker in graph.operators:
        if maker.code not in _MAKERS or maker.options.get(OPTION, "NONE") != "NONE":
            continue
        readers = graph.readers(maker.outputs[0])
        if len(readers) == 1 and readers[0].code in _ACTIVATIONS:
            middle, target = (graph.tensors[op.outputs[0]] for op in (maker, readers[0]))
            are_alike = (middle.dtype, middle.quantization) == (target.dtype, target.quantization)
            if are_alike and middle.dtype in _QUANTIZED and middle.index not in graph.outputs:
                yield maker, readers[0]


FUSED_ACTIVATIONS = Rewrite(
    NAME,
    "RELU, RELU6 or RELU_N1_TO_1 alone reads a layer, a sum, a difference, a product or a pool "
    "without an activation; both outputs have one quantized type, scale and zero point",
    fuse,
)
