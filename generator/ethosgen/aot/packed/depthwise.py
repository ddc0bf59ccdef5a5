# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""DEPTHWISE_CONV_2D with one output for each channel."""

from collections.abc import Sequence

import numpy as np
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.quantization import zero_point_of
from ethosgen.aot.operators.weighted import Layer, read_layer
from ethosgen.aot.operators.window import Axis, make_window
from ethosgen.aot.packed import order, packed
from ethosgen.aot.packed.matrix import ROWS, depthwise_of_one_channel
from ethosgen.model import Operator, Tensor

DEPTHWISE = frozenset({"ethosgen_depthwise.c"})
READ_BEYOND = order.DEPTHWISE_CHANNELS
"""Bytes behind the last row that the kernel reads, and whose products it throws away."""


@packed("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute a row of outputs at a time, from a ring of as many rows as a window is high.

    Rows are copied into the ring with the zero point around them, so that the kernel knows no
    borders. Each is copied once.
    """
    layer = read_layer(op, tensors)
    if layer.source.shape[3] == 1:
        return depthwise_of_one_channel(op, tensors)
    if not order.is_packable(layer) or layer.source.shape[3] != layer.channels:
        return None
    vertical, horizontal = make_window(op, _taps(layer), layer.source, layer.target)
    return _ring(layer, vertical, horizontal)


def _ring(layer: Layer, vertical: Axis, horizontal: Axis) -> Kernel:
    source, target, channels = layer.source, layer.target, layer.channels
    height, width = source.shape[1:3]
    slots = (vertical.taps - 1) * vertical.dilation + 1
    reach = (target.shape[2] - 1) * horizontal.stride + (horizontal.taps - 1) * horizontal.dilation
    taken = min(width, reach + 1 - horizontal.padding)
    before, row = horizontal.padding * channels, taken * channels
    after = (reach + 1 - horizontal.padding - taken) * channels
    row_bytes = before + row + after
    kept = max(slots - vertical.stride, 0)
    zero_point = zero_point_of(source)

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"),
        weights: T.handle("int8"),
        scales: T.handle("int32"),
        shape: T.handle("int32"),
        output: T.handle("int8"),
        ring: T.handle("int8"),
    ):
        x = T.decl_buffer(source.shape, "int8", data=input)
        y = T.decl_buffer(target.shape, "int8", data=output)
        r = T.decl_buffer((slots * row_bytes,), "int8", data=ring)
        for n, oy in T.grid(*target.shape[:2]):
            for i in T.serial(T.Select(oy == 0, 0, kept), slots):
                iy: T.let[T.int32] = oy * vertical.stride + i - vertical.padding
                slot: T.let[T.int32] = T.truncmod(oy * vertical.stride + i, slots)
                if iy >= 0 and iy < height:
                    T.evaluate(
                        T.call_extern(
                            "void",
                            "ethosgen_pad_row_s8",
                            T.address_of(r[slot * row_bytes]),
                            T.address_of(x[n, iy, 0, 0]),
                            before,
                            row,
                            after,
                            zero_point,
                        )
                    )
                else:
                    T.evaluate(
                        T.call_extern(
                            "void",
                            "ethosgen_pad_row_s8",
                            T.address_of(r[slot * row_bytes]),
                            T.address_of(x[n, 0, 0, 0]),
                            row_bytes,
                            0,
                            0,
                            zero_point,
                        )
                    )
            T.evaluate(
                T.call_extern(
                    "void",
                    "ethosgen_depthwise_row_s8",
                    T.address_of(y[n, oy, 0, 0]),
                    ring,
                    T.truncmod(oy * vertical.stride, slots),
                    weights,
                    scales,
                    shape,
                )
            )

    weights = layer.weights.array().reshape(-1, channels)
    table = order.scales(layer, order.folded_biases(layer, weights.T))
    geometry = (
        *(target.shape[2], channels, vertical.taps, horizontal.taps, vertical.dilation),
        *(horizontal.dilation * channels, horizontal.stride * channels, slots, row_bytes),
        order.exact_taps(weights, horizontal.taps),
        *(zero_point_of(target), *layer.bounds),
    )
    constants = (
        order.depthwise_weights(weights),
        order.depthwise_scales(table),
        np.array(geometry, np.int32),
    )
    workspace = slots * row_bytes + READ_BEYOND
    return Kernel(function, (source.index,), constants, workspace, DEPTHWISE | ROWS)


def _taps(layer: Layer) -> tuple[int, int]:
    _, height, width, _ = layer.weights.shape
    return height, width
