"""Operators that are fused into the operators after them."""

from collections.abc import Collection
from dataclasses import replace

from ethosgen.values.network import ABSENT, Graph, Operator, Tensor

EXPLICIT = "EXPLICIT"
"""Value of a convolution's option `padding`; the option `explicit_padding` gives the sizes: ((rows
before, after), (columns before, after))."""

_CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")


_PADS = ("PAD", "PADV2")


def fuse_paddings(graph: Graph, placed: Collection[int]) -> Graph:
    """Return a graph in which convolutions include the PAD before them.

    This saves the copy and its memory. A PAD stays if another operator or the application reads its
    output, if its value is not the input's zero point, or if a backend `placed` one of the tensors,
    since it relies on their lifetimes.
    """
    readers: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        for tensor in dict.fromkeys(operator.inputs):
            readers.setdefault(tensor, []).append(operator)
    fused: dict[int, Operator] = {}
    gone = set()
    for pad in (op for op in graph.operators if op.code in _PADS):
        behind = readers.get(pad.outputs[0], [])
        used = {*pad.inputs, *pad.outputs, *(i for op in behind for i in op.outputs)}
        if not behind or pad.outputs[0] in graph.outputs or used & set(placed):
            continue
        if all(_may_fuse(graph, pad, operator) for operator in behind):
            fused |= {op.index: _padding_itself(graph, pad, op) for op in behind}
            gone.add(pad.index)
    operators = (fused.get(op.index, op) for op in graph.operators if op.index not in gone)
    return replace(graph, operators=tuple(operators))


def _may_fuse(graph: Graph, pad: Operator, convolution: Operator) -> bool:
    source, target = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    paddings = graph.tensors[pad.inputs[1]]
    return (
        convolution.code in _CONVOLUTIONS
        and convolution.inputs[0] == target.index
        and target.index not in convolution.inputs[1:]
        and convolution.options.get("padding") == "VALID"
        and paddings.data is not None
        and paddings.shape == (4, 2)
        and not paddings.array()[[0, 3]].any()
        and not (paddings.array() < 0).any()
        and _is_quantized(source)
        and source.quantization == target.quantization
        and _is_zero(graph, pad, source)
    )


def _is_quantized(tensor: Tensor) -> bool:
    quantization = tensor.quantization
    if quantization is None or len(quantization.scale) != 1:
        return False
    return tensor.dtype == "int8" or (tensor.dtype == "int16" and not any(quantization.zero_point))


def _is_zero(graph: Graph, pad: Operator, source: Tensor) -> bool:
    """Return whether a PAD's value is the zero point: the default, unless PADV2 names another."""
    if len(pad.inputs) < 3 or pad.inputs[2] == ABSENT:
        return True
    value = graph.tensors[pad.inputs[2]]
    point = source.quantization.zero_point[0] if source.quantization else 0
    return value.data is not None and bool((value.array() == point).all())


def _padding_itself(graph: Graph, pad: Operator, convolution: Operator) -> Operator:
    paddings = graph.tensors[pad.inputs[1]].array().tolist()
    options = {**convolution.options, "padding": EXPLICIT, "explicit_padding": paddings[1:3]}
    inputs = (pad.inputs[0], *convolution.inputs[1:])
    return replace(convolution, inputs=inputs, options=options)
