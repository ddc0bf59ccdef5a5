"""DEPTHWISE_CONV_2D of int8."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import tirx

from ethosgen.aot.arithmetic.quantization import zero_point_of
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed import cost, order, packed
from ethosgen.aot.packed.matrix import convolution
from ethosgen.values.network import Operator, Tensor

DEPTHWISE = frozenset({"ethosgen_depthwise.c"})


@packed("DEPTHWISE_CONV_2D", cycles=cost.DEPTHWISE)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute one output row at a time, from a ring buffer of as many rows as the window is high.

    Rows are copied into the ring buffer padded with the zero point, so the kernel has no borders.
    Each row is copied once; a channel with several outputs is repeated side by side.
    """
    layer = order.packable_layer(op, tensors)
    if layer is None:
        return None
    if layer.source.shape[3] == 1:
        return convolution(op, layer, layer.weights.array().transpose(3, 1, 2, 0))
    vertical, horizontal = make_window(op, _taps(layer), layer.source, layer.target)
    return _ring(layer, vertical, horizontal)


def _ring(layer: Layer, vertical: Axis, horizontal: Axis) -> Kernel:
    source, target = layer.source, layer.target
    slots = (vertical.taps - 1) * vertical.dilation + 1
    kept = max(slots - vertical.stride, 0)
    columns = (target.shape[2] - 1) * horizontal.stride + 1
    columns += (horizontal.taps - 1) * horizontal.dilation
    copy = "ethosgen_ring_row_s8"
    if source.shape[3] != layer.channels:
        copy = "ethosgen_ring_copies_s8"

    blocks = -(-layer.channels // order.DEPTHWISE_CHANNELS)
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    weights, scales, shape = (
        nest.table(name, values).data
        for name, values in zip(
            ("weights", "scales", "shape"),
            _constants(layer, vertical, horizontal, slots, columns),
            strict=True,
        )
    )
    ring = nest.room("ring", slots * blocks * columns * order.DEPTHWISE_CHANNELS).data
    with nest.loops(target.shape[:2], "n oy") as (n, oy):
        is_only = isinstance(oy, int)
        first = 0 if is_only else nest.let("first", oy * vertical.stride)
        start = 0 if is_only else tirx.Select(oy == 0, 0, kept)
        with nest.loop("i", slots - start, start) as i:
            row, slot = first + i - vertical.padding, tirx.truncmod(first + i, slots)
            nest.call(copy, ring, tirx.address_of(x[n, 0, 0, 0]), row, slot, shape)
        nest.call(
            "ethosgen_depthwise_row_s8",
            *(tirx.address_of(y[n, oy, 0, 0]), ring, 0 if is_only else tirx.truncmod(first, slots)),
            *(weights, scales, shape),
        )
    return nest.kernel(DEPTHWISE)


def _constants(
    layer: Layer, vertical: Axis, horizontal: Axis, slots: int, columns: int
) -> tuple[np.ndarray[Any, Any], ...]:
    """Return packed weights, scales, and struct ethosgen_depthwise."""
    _, height, width, depth = layer.source.shape
    channels, before = layer.channels, min(horizontal.padding, columns)
    weights = layer.weights.array().reshape(-1, channels)
    table = order.channel_table(layer, weights.T)
    shape = (
        *(height, width * depth, channels, zero_point_of(layer.source), before),
        *(min(width, columns - before), columns, slots),
        *(layer.target.shape[2], horizontal.stride, vertical.taps, horizontal.taps),
        *(vertical.dilation, horizontal.dilation, channels // depth),
        *(order.pairs_fit(weights), zero_point_of(layer.target), *layer.bounds),
    )
    return (
        order.depthwise_weights(weights),
        order.depthwise_scales(table),
        np.array(shape, np.int32),
    )


def _taps(layer: Layer) -> tuple[int, int]:
    _, height, width, _ = layer.weights.shape
    return height, width
