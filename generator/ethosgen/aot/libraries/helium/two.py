"""Convolutions to one or two channels, which read windows where they are."""

import numpy as np
from tvm import tirx

from ethosgen.aot.libraries.framework.order import Array, channel_table, padded
from ethosgen.aot.libraries.helium import order
from ethosgen.aot.libraries.helium.shapes import Two, output_of
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest

TWO = frozenset({"ethosgen_two.c"})
CHANNELS = 2


def cycles_of_two(vertical: Axis, horizontal: Axis, depth: int, channels: int) -> float | None:
    """Return the estimated instructions for a picture, None if the kernel does not cover it."""
    is_row = horizontal.dilation == 1 or horizontal.taps == 1
    if channels > CHANNELS or not (vertical.is_inside and horizontal.is_inside and is_row):
        return None
    vectors = -(-horizontal.taps * depth // order.MATRIX_DEPTH)
    pairs = vertical.target * -(-horizontal.target // 2)
    return 40 + vertical.target * 10 + pairs * (60 + vertical.taps * (12 + 9.0 * vectors))


def two_channels(layer: Layer, weights: Array, vertical: Axis, horizontal: Axis) -> Kernel:
    """Return a kernel for weights of (output channel, row, column, input channel)."""
    source, target = layer.source, layer.target
    _, _, width, depth = source.shape
    row = width * depth
    shape = Two(
        rows=vertical.target,
        pixels=horizontal.target,
        row_step=vertical.stride * row,
        pixel_step=horizontal.stride * depth,
        taps=vertical.taps,
        tap_step=vertical.dilation * row,
        tap_bytes=horizontal.taps * depth,
        channels=layer.channels,
        output=output_of(layer),
    )
    table = channel_table(layer, weights.reshape(layer.channels, -1))
    nest = Nest()
    x, y = nest.read("input", source), nest.write("output", target)
    tables = [
        nest.table("weights", _ordered(weights)).data,
        nest.table("scales", np.resize(table, (2 * CHANNELS, 3)).T.reshape(-1)).data,
        nest.table("shape", shape).data,
    ]
    with nest.loop("n", target.shape[0]) as n:
        places = tirx.address_of(y[n, 0, 0, 0]), tirx.address_of(x[n, 0, 0, 0])
        nest.call("ethosgen_convolution_two_s8", *places, *tables)
    return nest.kernel(TWO)


def _ordered(weights: Array) -> Array:
    """Pack weights: for every row, for every 16 bytes of it, those of both channels."""
    channels, rows = weights.shape[:2]
    flat = padded(weights.reshape(channels, rows, -1), order.MATRIX_DEPTH, 2)
    both = padded(flat, CHANNELS, 0)
    split = both.reshape(CHANNELS, rows, -1, order.MATRIX_DEPTH)
    return np.ascontiguousarray(split.transpose(1, 2, 0, 3)).reshape(-1)
