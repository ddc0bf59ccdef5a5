"""Removes channels that need not stay, and gives layers the remaining weights and biases."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ethosgen.optimizer.dead.needs import Flags, data_inputs
from ethosgen.optimizer.dead.sinks import Sink
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import ABSENT, Graph, Operator, Quantization, Tensor

_AXES = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0}
"""The axis of the weights that counts output channels."""


def shrunk(graph: Graph, kept: Mapping[int, Flags], sinks: Mapping[int, Sink]) -> Graph:
    """Return a graph that keeps only some channels."""
    edit = GraphEdit(graph)
    data = {i for op in graph.operators for i in (*data_inputs(op), *op.outputs) if i != ABSENT}
    for index in data:
        if not kept[index].all():
            edit.tensors[index] = _cut(graph.tensors[index], kept[index])
    for operator in graph.operators:
        if operator.index in sinks:
            _cut_sink(edit, operator, kept, sinks[operator.index])
        elif operator.code == "DEPTHWISE_CONV_2D":
            _cut_depthwise(edit, operator, kept)
        elif operator.code == "RESHAPE":
            _reshape(edit, operator)
    return edit.done()


def _cut(tensor: Tensor, kept: Flags) -> Tensor:
    shape = (*tensor.shape[:-1], int(kept.sum()))
    data = None if tensor.data is None else tensor.array()[..., kept].tobytes()
    return replace(tensor, shape=shape, data=data)


def _cut_sink(edit: GraphEdit, operator: Operator, kept: Mapping[int, Flags], sink: Sink) -> None:
    """Cut weights on both sides; the bias takes the constant inputs that go.

    A constant channel that stays loses its weights: with its least sum as the bias it has the same
    output.
    """
    inputs, outputs = kept[operator.inputs[0]], kept[operator.outputs[0]]
    weights = edit.graph.tensors[operator.inputs[1]]
    values = weights.array()
    point = weights.first_zero_point if weights.dtype == "uint8" else 0
    flat = values.reshape(values.shape[0], -1)
    barren = sink.constant & outputs & (flat != point).any(axis=1)
    if inputs.all() and outputs.all() and not barren.any():
        return
    values = values.copy()
    values[barren] = point
    sums = sink.layer.bias + sink.taken[~inputs].sum(axis=0)
    sums = np.where(sink.constant, sink.least, sums)
    read = inputs[sink.layer.reads] if operator.code == "FULLY_CONNECTED" else inputs
    _set_layer(edit, operator, values[outputs][..., read], sums[outputs], outputs)


def _cut_depthwise(edit: GraphEdit, operator: Operator, kept: Mapping[int, Flags]) -> None:
    outputs = kept[operator.outputs[0]]
    if outputs.all():
        return
    values = edit.graph.tensors[operator.inputs[1]].array()
    bias = _bias_of(edit, operator)
    sums = None if bias is None else bias.array().ravel()[outputs]
    _set_layer(edit, operator, values[..., outputs], sums, outputs)


def _bias_of(edit: GraphEdit, operator: Operator) -> Tensor | None:
    if len(operator.inputs) < 3 or operator.inputs[2] == ABSENT:
        return None
    return edit.graph.tensors[operator.inputs[2]]


def _set_layer(
    edit: GraphEdit,
    operator: Operator,
    values: np.ndarray[Any, Any],
    sums: np.ndarray[Any, Any] | None,
    outputs: Flags,
) -> None:
    """Give a layer new weights and, unless it has none and needs none, a new bias."""
    weights, bias = edit.graph.tensors[operator.inputs[1]], _bias_of(edit, operator)
    scales = _cut_scales(weights.quantization, outputs)
    edit.set_input(operator.index, 1, edit.constant(weights, values, scales))
    if bias is None and (sums is None or not sums.any()):
        return
    assert sums is not None
    like = bias or _new_bias(edit, operator, weights)
    edit.set_input(
        operator.index, 2, edit.constant(like, sums, _cut_scales(like.quantization, outputs))
    )


def _new_bias(edit: GraphEdit, operator: Operator, weights: Tensor) -> Tensor:
    """Return the form of a layer's first bias."""
    source, known = edit.graph.tensors[operator.inputs[0]].quantization, weights.quantization
    assert source is not None and known is not None
    scales = tuple(float(np.float32(source.scale[0] * scale)) for scale in known.scale)
    quantization = Quantization(scales, (0,) * len(scales))
    name = f"{weights.name}_bias"
    dtype = "int64" if edit.graph.tensors[operator.inputs[0]].dtype == "int16" else "int32"
    return Tensor(0, name, (), dtype, quantization)


def _cut_scales(quantization: Quantization | None, outputs: Flags) -> Quantization | None:
    """Return the scales of the output channels that stay, if each has its own."""
    if quantization is None or len(quantization.scale) != outputs.size or outputs.size == 1:
        return quantization
    return quantization.of_channels(np.flatnonzero(outputs).tolist())


def _reshape(edit: GraphEdit, operator: Operator) -> None:
    """Write the output's shape where a RESHAPE states it."""
    target = edit.tensors[operator.outputs[0]]
    if target.shape == edit.graph.tensors[target.index].shape:
        return
    if len(operator.inputs) > 1 and operator.inputs[1] != ABSENT:
        shape = edit.graph.tensors[operator.inputs[1]]
        new = edit.constant(shape, np.array(target.shape), shape.quantization)
        edit.set_input(operator.index, 1, new)
    if "new_shape" in operator.options:
        options = {**operator.options, "new_shape": list(target.shape)}
        edit.operators[operator.index] = replace(edit.operators[operator.index], options=options)
