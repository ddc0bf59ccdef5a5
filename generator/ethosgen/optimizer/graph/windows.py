"""The rewrite that moves a PAD into the window of the layer after it."""

from collections.abc import Iterator
from dataclasses import replace

from ethosgen.optimizer.intervals.windows import WindowAxis, window_of
from ethosgen.optimizer.rewrites import Rewrite, Rewritten, in_each_graph
from ethosgen.values.editing import GraphEdit
from ethosgen.values.network import Graph, Network, Operator

NAME = "padded-windows"
_LAYERS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
_QUANTIZED = frozenset({"int8", "uint8", "int16"})
"""A float layer would no longer add the products with 0, and so could write -0 instead of 0."""


def move_in(network: Network) -> Rewritten | None:
    """Let layers without padding pad as the PAD before them does."""
    return in_each_graph(network, _moved_in, NAME, "PAD", "moved into windows")


def _moved_in(graph: Graph) -> tuple[Graph, int]:
    pairs, edit = list(_pairs(graph)), GraphEdit(graph)
    for pad, layer in pairs:
        edit.set_input(layer.index, 0, pad.inputs[0])
        edited = edit.operators[layer.index]
        edit.operators[layer.index] = replace(edited, options={**edited.options, "padding": "SAME"})
    return edit.done(), len(pairs)


def _pairs(graph: Graph) -> Iterator[tuple[Operator, Operator]]:
    """Yield each PAD whose readers are all layers that can pad alike, with each such layer."""
    for pad in graph.operators:
        if pad.code not in ("PAD", "PADV2") or pad.outputs[0] in graph.outputs:
            continue
        readers = graph.readers(pad.outputs[0])
        before = _zeros_before(graph, pad)
        if before and all(_pads_alike(graph, pad, layer, before) for layer in readers):
            yield from ((pad, layer) for layer in readers)


def _zeros_before(graph: Graph, pad: Operator) -> tuple[int, int] | None:
    """Return the rows and columns that a PAD adds in front; None if it adds anything but zeros."""
    source, target = graph.tensors[pad.inputs[0]], graph.tensors[pad.outputs[0]]
    widths = graph.tensors[pad.inputs[1]]
    are_alike = (source.dtype, source.quantization) == (target.dtype, target.quantization)
    if source.dtype not in _QUANTIZED or not are_alike or source.is_variable or not widths.data:
        return None
    if len(source.shape) != 4 or source.data is not None:
        return None
    if pad.code == "PADV2":
        value = graph.tensors[pad.inputs[2]]
        if value.data is None or (value.array() != target.first_zero_point).any():
            return None
    batch, rows, columns, channels = widths.array().tolist()
    return (rows[0], columns[0]) if not any((*batch, *channels)) else None


def _pads_alike(graph: Graph, pad: Operator, layer: Operator, before: tuple[int, int]) -> bool:
    """Return whether a layer's window, padded by its own rule, is at the same places."""
    if layer.code not in _LAYERS or layer.inputs.count(pad.outputs[0]) != 1:
        return False
    weights, target = graph.tensors[layer.inputs[1]], graph.tensors[layer.outputs[0]]
    if layer.options.get("padding") != "VALID" or len(weights.shape) != 4:
        return False
    options = {**layer.options, "padding": "SAME"}
    source = graph.tensors[pad.inputs[0]].shape
    window = window_of(options, source, target.shape, weights.shape[1:3])
    axes = (window.rows, window.columns)
    return all(_is_same(axis, first) for axis, first in zip(axes, before, strict=True))


def _is_same(axis: WindowAxis, before: int) -> bool:
    return axis.out == -(-axis.size // axis.stride) and axis.before == before


PADDED_WINDOWS = Rewrite(
    NAME,
    "only CONV_2D and DEPTHWISE_CONV_2D without padding read a PAD of rows and columns with the "
    "zero point, and with SAME their windows are at the same places of the PAD's input",
    move_in,
)
