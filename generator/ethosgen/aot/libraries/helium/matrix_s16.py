"""Rows of int16 times weights: FULLY_CONNECTED, CONV_2D, the depthwise convolution of a channel.

TFLite sums products of int16 in 64 bits. Where no sum with its bias exceeds 32 bits and factors are
below 1/2, the kernels use 32 bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethosgen.aot.cost import TwoForms
from ethosgen.aot.libraries.framework.calls import (
    CFunction,
    images_kernel,
    is_point,
    named,
    rows_kernel,
)
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, each_multiplier, layer_s16, sums_fit
from ethosgen.aot.libraries.helium import order, shapes
from ethosgen.aot.libraries.helium.matrix import output_steps, strip_order, strip_shape
from ethosgen.aot.libraries.helium.strips import Products, Strips, cheapest_strips
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.quantization import shorten
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

BYTES = 2
"""The bytes of an int16."""
MOST_SPREAD_BYTES = 1 << 15
"""Most bytes of the weights of groups that are spread over all channels."""
SUMS = frozenset({"ethosgen_sums_s16.h"})
ROWS = {
    "": SUMS | {"ethosgen_matrix_s16.c"},
    "_wide": SUMS | {"ethosgen_matrix_wide_s16.c", "ethosgen_wide.h"},
}
"""The files by the part of the kernels' names for 64-bit sums."""
STRIPS = {
    "": ROWS[""] | {"ethosgen_convolution_s16.c", "ethosgen_strips.h"},
    "_wide": ROWS["_wide"] | {"ethosgen_convolution_wide_s16.c", "ethosgen_strips.h"},
}


def _products_s32(rows: int, row_bytes: int, channels: int) -> float:
    """Estimate rows times weights with 32-bit sums."""
    blocks, vectors = pieces(channels, 4), pieces(row_bytes, 16)
    pairs, rest = divmod(rows, 2)
    pair = 37.0 + 15 * vectors
    single = 30 + blocks * (24 + 10.0 * vectors)
    return 40 + (pairs and 50 + blocks * (60 + pairs * pair)) + rest * single


def _products_s64(rows: int, row_bytes: int, channels: int) -> float:
    """Estimate rows times weights with 64-bit sums."""
    blocks, vectors = pieces(channels, 4), pieces(row_bytes, 16)
    return 40 + rows * (30 + blocks * (40 + 10.0 * vectors) + 20.0 * channels)


PRODUCTS: dict[str, Products] = {"": _products_s32, "_wide": _products_s64}


@dataclass(frozen=True)
class MatrixS16:
    """A layer with its weights as (output channel, row, column, input channel).

    `table` has the bias, mantissa and shift of each channel if 32-bit sums suffice, else None.
    """

    layer: Layer
    weights: Array
    table: Array | None

    @property
    def form(self) -> str:
        """The part of the kernels' names for the sums."""
        return "_wide" if self.table is None else ""

    @property
    def row(self) -> int:
        """The products of an output."""
        return int(self.weights[0].size)

    @property
    def rows(self) -> int:
        """The rows of outputs."""
        return self.layer.target.elements // self.layer.channels

    def constants(self, weights: Array, rows: int) -> tuple[Array, Array, shapes.HeliumMatrix]:
        """Return packed weights, scales, and the struct of the products."""
        table, layer = self.table, self.layer
        scales = (
            order.scales_s64(layer).reshape(-1) if table is None else order.matrix_scales(table)
        )
        matrix = shapes.HeliumMatrix(
            rows=rows,
            depth=weights.shape[1],
            channels=layer.channels,
            output=shapes.output_of(layer),
            has_common_shifts=0,
        )
        packs = order.matrix_weights(weights, order.MATRIX_DEPTH_S16)
        return packs, scales, matrix


def narrow_table(layer: Layer, weights: Array) -> Array | None:
    """Return the bias, mantissa and shift of each channel; None if sums need 64 bits.

    `weights` is (channels, products).
    """
    biases = np.zeros(layer.channels, np.int64)
    if layer.biases is not None:
        biases += layer.biases.array().reshape(-1)
    factors = [narrow_factor(*shorten(multiplier)) for multiplier in each_multiplier(layer)]
    if not sums_fit(weights, biases) or None in factors:
        return None
    return np.column_stack([biases, np.array(factors, np.int64)]).astype(np.int32)


def narrow_factor(mantissa: int, shift: int) -> tuple[int, int] | None:
    """Return mantissa and shift for ethosgen_rescale_once_x4, None if it does not cover them."""
    return (mantissa << 16, 16 - shift) if 16 < shift <= 16 + 31 else None


def matrix_of(op: Operator, tensors: Sequence[Tensor]) -> MatrixS16 | None:
    """Return a layer as a matrix, None if no micro-kernel computes it."""
    layer = layer_s16(op, tensors)
    if layer is None:
        return None
    weights, depth = layer.weights.array(), layer.source.shape[-1]
    if op.code == "FULLY_CONNECTED":
        weights = weights.reshape(-1, 1, 1, weights.shape[-1])
    elif op.code == "DEPTHWISE_CONV_2D":
        weights = weights.transpose(3, 1, 2, 0)
    if is_spread(op, tensors):
        if weights.size * depth // weights.shape[3] > MOST_SPREAD_BYTES:
            return None
        weights = _spread(weights, depth)
    return MatrixS16(layer, weights, narrow_table(layer, weights.reshape(len(weights), -1)))


def is_spread(op: Operator, tensors: Sequence[Tensor]) -> bool:
    """Return whether a layer has groups, whose weights a matrix spreads over all channels."""
    depth, shape = tensors[op.inputs[0]].shape[-1], tensors[op.inputs[1]].shape
    parts = {"CONV_2D": shape[-1], "DEPTHWISE_CONV_2D": 1}
    return parts.get(op.code, depth) != depth


def _spread(weights: Array, depth: int) -> Array:
    """Return the weights of groups for all input channels, zeros for those of other groups."""
    channels, *window, part = weights.shape
    groups = depth // part
    spread = np.zeros((channels, *window, depth), weights.dtype)
    for group, outputs in enumerate(np.split(np.arange(channels), groups)):
        spread[outputs, ..., group * part : (group + 1) * part] = weights[outputs]
    return spread


def helium_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Estimate an output of a matrix with Helium."""
    matrix = matrix_of(op, tensors)
    if matrix is None:
        return 0.0
    strips = _strips_of(op, matrix)
    if strips is not None:
        return strips.cycles / strips.outputs
    whole = PRODUCTS[matrix.form](matrix.rows, matrix.row * BYTES, matrix.layer.channels)
    return whole / max(matrix.layer.target.elements, 1)


def _in_c(op: Operator, tensors: Sequence[Tensor]) -> float:
    matrix = matrix_of(op, tensors)
    return 42.0 + 10.2 * matrix.row if matrix else 0.0


ESTIMATE = TwoForms(helium_cycles, _in_c)


@packed("FULLY_CONNECTED", "CONV_2D", dtype="int16", cycles=ESTIMATE, for_helium=is_spread)
def layer_of_int16(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Multiply rows of the input, or windows of copied rows."""
    matrix = matrix_of(op, tensors)
    return None if matrix is None else kernel_of(op, matrix)


def kernel_of(op: Operator, matrix: MatrixS16) -> Kernel:
    """Return the kernel of a matrix."""
    strips = _strips_of(op, matrix)
    return _product(matrix) if strips is None else _convolution(matrix, strips)


def _strips_of(op: Operator, matrix: MatrixS16) -> Strips | None:
    """Return the strips of a layer, None if its rows are in the input."""
    if op.code == "FULLY_CONNECTED":
        return None
    layer, weights = matrix.layer, matrix.weights
    window: tuple[Axis, Axis] = make_window(op, weights.shape[1:3], layer.source, layer.target)
    if is_point(*window):
        return None
    products = PRODUCTS[matrix.form]
    return cheapest_strips(*window, weights.shape[3] * BYTES, layer.channels, products=products)


def _product(matrix: MatrixS16) -> Kernel:
    layer, flat = matrix.layer, matrix.weights.reshape(len(matrix.weights), -1)
    is_row = matrix.rows == 1 and not matrix.form
    name = "ethosgen_row_s16" if is_row else f"ethosgen_matrix{matrix.form}_s16"
    constants = matrix.constants(flat, matrix.rows)
    return rows_kernel(layer, CFunction(name, ROWS[matrix.form]), constants, has_count=False)


def _convolution(matrix: MatrixS16, strips: Strips) -> Kernel:
    layer = matrix.layer
    packs, scales, struct = matrix.constants(strip_order(matrix.weights, strips), 1)
    shape = strip_shape(layer, strips, output_steps(layer), struct)
    in_place, room = ("_in_place", 0) if strips.is_in_place else ("", strips.bytes)
    name = f"ethosgen_convolution{in_place}{matrix.form}_s16"
    function = CFunction(name, STRIPS[matrix.form], room, "strip")
    return images_kernel(layer, function, named(packs, scales, shape))
