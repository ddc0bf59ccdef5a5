"""Operators that are fused into the operators after them."""

from collections.abc import Collection
from dataclasses import replace

from ethosgen.values.network import Graph, Operator, Tensor

EXPLICIT = "EXPLICIT"
"""Value of a convolution's option `padding`; the option `explicit_padding` gives the sizes: ((rows
before, after), (columns before, after))."""

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")


def fuse_paddings(graph: Graph, placed: Collection[int]) -> Graph:
    """Return a graph in which convolutions include the PAD before them.

    This saves the copy and its memory. A PAD stays if another operator reads its output, if its
    value is not the input's zero point, or if a backend `placed` one of the tensors, since it
    relies on their lifetimes.
    """
    readers: dict[int, int] = dict.fromkeys(graph.outputs, 2)
    for operator in graph.operators:
        for tensor in operator.inputs:
            readers[tensor] = readers.get(tensor, 0) + 1
    makers = {op.outputs[0]: op for op in graph.operators if op.code == "PAD"}
    fused: dict[int, Operator] = {}
    gone = set()
    for operator in graph.operators:
        pad = makers.get(operator.inputs[0]) if operator.inputs else None
        if pad is None or readers[pad.outputs[0]] > 1 or not _may_fuse(graph, pad, operator):
            continue
        if {*pad.inputs, *pad.outputs, *operator.outputs} & set(placed):
            continue
        fused[operator.index] = _padding_itself(graph, pad, operator)
        gone.add(pad.index)
    operators = (fused.get(op.index, op) for op in graph.operators if op.index not in gone)
    return replace(graph, operators=tuple(operators))


def _may_fuse(graph: Graph, pad: Operator, convolution: Operator) -> bool:
    source, target = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    paddings = graph.tensors[pad.inputs[1]]
    return (
        convolution.code in _CONVOLUTIONS
        and convolution.options.get("padding") == "VALID"
        and paddings.data is not None
        and paddings.shape == (4, 2)
        and not paddings.array()[[0, 3]].any()
        and not (paddings.array() < 0).any()
        and _is_int8(source)
        and source.quantization == target.quantization
    )


def _is_int8(tensor: Tensor) -> bool:
    quantization = tensor.quantization
    return tensor.dtype == "int8" and quantization is not None and len(quantization.scale) == 1


def _padding_itself(graph: Graph, pad: Operator, convolution: Operator) -> Operator:
    paddings = graph.tensors[pad.inputs[1]].array().tolist()
    options = {**convolution.options, "padding": EXPLICIT, "explicit_padding": paddings[1:3]}
    inputs = (pad.inputs[0], *convolution.inputs[1:])
    return replace(convolution, inputs=inputs, options=options)
