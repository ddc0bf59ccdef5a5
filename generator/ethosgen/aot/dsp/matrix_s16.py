"""int16 rows times int8 weights: FULLY_CONNECTED, CONV_2D, the depthwise convolution of a channel.

Layers have 64-bit sums, as TFLite's layers without a bias of 32 bits.
"""

from collections.abc import Sequence

import numpy as np
from tvm import tirx

from ethosgen.aot.dsp import order_s16 as order
from ethosgen.aot.dsp.cost_s16 import CONVOLUTION, DENSE
from ethosgen.aot.dsp.matrix import is_contiguous, window_numbers
from ethosgen.aot.loops.layer import Layer, read_layer
from ethosgen.aot.loops.nest import Nest
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.operators import Kernel
from ethosgen.aot.packed import packed
from ethosgen.aot.packed.order import Array
from ethosgen.values.network import Operator, Tensor

MATRIX = frozenset({"ethosgen_dsp_matrix_s16.c", "ethosgen_dsp_tile_s16.h"})
WINDOWS = MATRIX | {"ethosgen_dsp_convolution_s16.c"}
ROOM = 8
"""Bytes of temporary memory for each place of a row: those of 4 rows."""


@packed("FULLY_CONNECTED", dtype="int16", cycles=DENSE)
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = wide_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    return _product(layer, weights.reshape(-1, weights.shape[-1]))


@packed("CONV_2D", dtype="int16", cycles=CONVOLUTION)
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply pixels by weights if a window is one pixel, else the pixels under each window."""
    layer = wide_layer(op, tensors)
    return None if layer is None else convolution(op, layer, layer.weights.array())


def wide_layer(op: Operator, tensors: Sequence[Tensor]) -> Layer | None:
    """Return an int16 layer with constant weights and 64-bit sums."""
    layer = read_layer(op, tensors)
    known = layer.weights.data is not None and not layer.weights_offset
    known = known and (layer.biases is None or layer.biases.data is not None)
    return layer if known and layer.sum_dtype == "int64" else None


def convolution(op: Operator, layer: Layer, weights: Array) -> Kernel | None:
    """Return a layer's kernel with weights of (output channel, row, column, input channel)."""
    axes = make_window(op, weights.shape[1:3], layer.source, layer.target)
    flat = weights.reshape(len(weights), -1)
    if is_contiguous(layer, weights, *axes):
        return _product(layer, flat)
    return _windows(layer, flat, weights.shape[3], *axes)


def _product(layer: Layer, weights: Array) -> Kernel | None:
    """Return a kernel for rows that are contiguous in the input, None if there is none."""
    constants = _constants(layer, weights, 1)
    if constants is None:
        return None
    inputs, outputs = layer.source.elements, layer.target.elements
    nest = Nest()
    x = nest.read("input", layer.source, (inputs,))
    y = nest.write("output", layer.target, (outputs,))
    names = ("weights", "scales", "shape")
    tables = [nest.table(*one) for one in zip(names, constants, strict=True)]
    room = nest.room("room", _room(weights))
    nest.call(
        "ethosgen_dsp_matrix_s16",
        *(tirx.address_of(y[0]), tirx.address_of(x[0]), outputs // layer.channels, room.data),
        *(table.data for table in tables),
    )
    return nest.kernel(MATRIX)


def _windows(
    layer: Layer, weights: Array, depth: int, vertical: Axis, horizontal: Axis
) -> Kernel | None:
    """Return a kernel that copies the pixels under each window, group by group."""
    source, target = layer.source, layer.target
    groups = source.shape[3] // depth
    constants = _constants(layer, weights, groups)
    if constants is None:
        return None
    packed_weights, scales, shape = constants
    steps = len(packed_weights) // groups, len(scales) // groups
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    w, s = nest.table("weights", packed_weights), nest.table("scales", scales)
    structs = (
        nest.table("shape", shape),
        nest.table("window", window_numbers(layer, depth, vertical, horizontal)),
    )
    room = nest.room("room", _room(weights))
    with nest.loops((source.shape[0], groups), "n group") as (n, group):
        nest.call(
            "ethosgen_dsp_convolution_s16",
            tirx.address_of(y[n, 0, 0, group * (layer.channels // groups)]),
            *(tirx.address_of(x[n, 0, 0, group * depth]), room.data),
            *(tirx.address_of(w[group * steps[0]]), tirx.address_of(s[group * steps[1]])),
            *(struct.data for struct in structs),
        )
    return nest.kernel(WINDOWS)


def _room(weights: Array) -> int:
    depth: int = weights.shape[1]
    return ROOM * -(-depth // order.PAIR) * order.PAIR


def _constants(layer: Layer, weights: Array, groups: int) -> tuple[Array, Array, Array] | None:
    """Return packed weights and scales, group by group, and a struct ethosgen_dsp_matrix_s16.

    None if the kernel cannot compute the layer.
    """
    scales = order.scales(layer, weights)
    if scales is None:
        return None
    shape = matrix_numbers(weights, scales, layer.bounds, groups)
    return (
        np.concatenate([order.matrix_weights(part) for part in np.split(weights, groups)]),
        np.concatenate([order.matrix_scales(part) for part in np.split(scales, groups)]),
        np.array(shape, np.int32),
    )


def matrix_numbers(
    weights: Array, scales: Array, bounds: tuple[float, float], groups: int = 1
) -> tuple[float, ...]:
    """Return a struct ethosgen_dsp_matrix_s16; weights are (channels, depth)."""
    channels, depth = weights.shape
    return depth, order.part(weights, scales), channels // groups, channels, *bounds
