# mypy: disable-error-code="valid-type,untyped-decorator,no-untyped-def"
"""Rows times weights: FULLY_CONNECTED, CONV_2D, and the depthwise convolution of one channel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm.script import tirx as T  # noqa: N812

from ethosgen.aot.operators import Kernel
from ethosgen.aot.operators.layer import Layer
from ethosgen.aot.operators.quantization import zero_point_of
from ethosgen.aot.operators.window import Axis, make_window
from ethosgen.aot.packed import order, packed
from ethosgen.model import Operator, Tensor

MATRIX = frozenset({"ethosgen_matrix.c"})
ROWS = frozenset({"ethosgen_rows.c"})


@packed("FULLY_CONNECTED")
def fully_connected(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply all rows of the input in one call."""
    layer = order.packable_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    weights = weights.reshape(-1, weights.shape[-1])
    return _product(layer, weights, layer.target.elements // layer.channels)


@packed("CONV_2D")
def conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply pixels where a window is one pixel, and copies of what windows cover elsewhere."""
    layer = order.packable_layer(op, tensors)
    if layer is None or layer.source.shape[3] != layer.weights.shape[3]:
        return None
    return _convolution(op, layer, layer.weights.array())


def depthwise_of_one_channel(op: Operator, layer: Layer) -> Kernel:
    """With one input channel it is a convolution with other names."""
    return _convolution(op, layer, layer.weights.array().transpose(3, 1, 2, 0))


def _convolution(op: Operator, layer: Layer, weights: np.ndarray[Any, Any]) -> Kernel:
    vertical, horizontal = make_window(op, weights.shape[1:3], layer.source, layer.target)
    flat = weights.reshape(len(weights), -1)
    if all(axis.taps == axis.stride == 1 and axis.is_inside for axis in (vertical, horizontal)):
        return _product(layer, flat, layer.target.elements // layer.channels)
    return _patches(layer, flat, vertical, horizontal)


def _product(layer: Layer, weights: np.ndarray[Any, Any], rows: int) -> Kernel:
    """Return a kernel for rows that lie in the input as they are."""
    inputs, outputs = layer.source.elements, layer.target.elements

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"),
        weights: T.handle("int8"),
        scales: T.handle("int32"),
        shape: T.handle("int32"),
        output: T.handle("int8"),
    ):
        x = T.decl_buffer((inputs,), "int8", data=input)
        y = T.decl_buffer((outputs,), "int8", data=output)
        T.evaluate(
            T.call_extern(
                "void",
                "ethosgen_matrix_s8",
                T.address_of(y[0]),
                T.address_of(x[0]),
                weights,
                scales,
                shape,
            )
        )

    constants = _constants(layer, weights, rows, weights.shape[1])
    return Kernel(function, (layer.source.index,), constants, micro_kernels=MATRIX)


def _patches(
    layer: Layer, weights: np.ndarray[Any, Any], vertical: Axis, horizontal: Axis
) -> Kernel:
    """Return a kernel that copies what each window covers into a row of the workspace."""
    source, target = layer.source, layer.target
    window = (
        *source.shape[1:],
        *(vertical.taps, horizontal.taps, vertical.dilation, horizontal.dilation),
        zero_point_of(source),
    )
    depth = -(-weights.shape[1] // order.MATRIX_DEPTH) * order.MATRIX_DEPTH

    @T.prim_func(private=True)
    def function(
        input: T.handle("int8"),
        weights: T.handle("int8"),
        scales: T.handle("int32"),
        shape: T.handle("int32"),
        window: T.handle("int32"),
        output: T.handle("int8"),
        patch: T.handle("int8"),
    ):
        x = T.decl_buffer(source.shape, "int8", data=input)
        y = T.decl_buffer(target.shape, "int8", data=output)
        for n, oy, ox in T.grid(*target.shape[:3]):
            T.evaluate(
                T.call_extern(
                    "void",
                    "ethosgen_patch_s8",
                    patch,
                    T.address_of(x[n, 0, 0, 0]),
                    oy * vertical.stride - vertical.padding,
                    ox * horizontal.stride - horizontal.padding,
                    window,
                )
            )
            T.evaluate(
                T.call_extern(
                    "void",
                    "ethosgen_matrix_s8",
                    T.address_of(y[n, oy, ox, 0]),
                    patch,
                    weights,
                    scales,
                    shape,
                )
            )

    constants = (*_constants(layer, weights, 1, depth), np.array(window, np.int32))
    return Kernel(function, (source.index,), constants, depth, micro_kernels=MATRIX | ROWS)


def _constants(
    layer: Layer, weights: np.ndarray[Any, Any], rows: int, depth: int
) -> tuple[np.ndarray[Any, Any], ...]:
    """Return packed weights, scales, and struct ethosgen_matrix."""
    table = order.channel_table(layer, weights)
    shape = (rows, depth, layer.channels, zero_point_of(layer.target), *layer.bounds)
    return (
        order.matrix_weights(weights),
        order.matrix_scales(table),
        np.array(shape, np.int32),
    )
