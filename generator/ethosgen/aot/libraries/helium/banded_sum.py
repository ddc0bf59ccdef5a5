"""A sum after a convolution, band by band: some rows of outputs are computed, then added.

The convolution's output is never stored as a whole, and the sum may overwrite the added tensor. All
roundings remain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ethosgen.aot.arithmetic.binary import ends
from ethosgen.aot.libraries.framework.calls import is_point
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.helium.elementwise import ADDITION, sum_of
from ethosgen.aot.libraries.helium.matrix import (
    CONVOLUTION,
    MATRIX,
    convolution_function,
    matrix_constants,
    matrix_function,
    output_steps,
    strip_constants,
)
from ethosgen.aot.libraries.helium.shapes import Add
from ethosgen.aot.libraries.helium.strips import Strips
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest, int32
from ethosgen.aot.tir.quantization import scale_of
from ethosgen.aot.tir.structs import Struct, structs_of
from ethosgen.aot.tvm import tirx
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

ROOM = 2048
"""Bytes above which a band is cut."""


@dataclass(frozen=True)
class _Bands:
    """The rows of outputs of a picture, cut into bands of `rows` rows; the last may have fewer."""

    total: int
    row_bytes: int

    @property
    def count(self) -> int:
        """The number of bands."""
        most = max(ROOM // self.row_bytes, 1)
        return pieces(self.total, most)

    @property
    def rows(self) -> int:
        """The rows of a band."""
        return pieces(self.total, self.count)

    def inside(self, band: Any) -> Any:
        """Return the rows of a band."""
        if self.total % self.rows == 0:
            return self.rows
        return tirx.min(self.rows, self.total - band * self.rows)


@dataclass(frozen=True)
class _Sum:
    """The added tensor, the output, and the struct of the sum.

    The sum's first input, with the larger scale, `is_other`, or else the band.
    """

    other: Tensor
    target: Tensor
    is_other: bool
    struct: Add

    def add(self, nest: Nest, band: Any, views: tuple[Any, Any, Any], at: Any, count: Any) -> None:
        """Add the band to the other tensor from a place on."""
        y, other, shape = views
        places = [band.data, tirx.address_of(other[at])]
        if self.is_other:
            places.reverse()
        nest.call("ethosgen_add_s8", tirx.address_of(y[at]), *places, count, shape.data)


def in_bands(
    layer: tuple[Operator, Kernel], addition: tuple[Operator, Kernel], tensors: Sequence[Tensor]
) -> Kernel | None:
    """Return the kernel of a CONV_2D and the ADD of its output; None if they have other kernels."""
    codes, sources = (layer[0].code, addition[0].code), (layer[1].sources, addition[1].sources)
    if codes != ("CONV_2D", "ADD") or not sources[0] >= MATRIX or sources[1] != ADDITION:
        return None
    return convolution_and_sum(layer[0], addition[0], tensors)


def convolution_and_sum(op: Operator, add: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Return a kernel of a CONV_2D and the ADD of its output; None if it covers only one."""
    layer = packable_layer(op, tensors)
    added = _sum(add, tensors[op.outputs[0]], tensors)
    if layer is None or layer.source.dtype != "int8" or added is None:
        return None
    _, *taps, depth = layer.weights.shape
    if depth != layer.source.shape[3]:
        return None
    vertical, horizontal = make_window(op, (taps[0], taps[1]), layer.source, layer.target)
    if is_point(vertical, horizontal):
        return _pixels(layer, added)
    strips = Strips(horizontal, vertical, depth, layer.channels, False)
    return None if strips.is_in_place else _strips(layer, strips, added)


def _sum(add: Operator, output: Tensor, tensors: Sequence[Tensor]) -> _Sum | None:
    """Return the sum of a tensor and another of the same shape, None for other operators."""
    first, second, target = ends(add, tensors)
    others = [tensor for tensor in (first, second) if tensor.index != output.index]
    if len(others) != 1 or not others[0].shape == output.shape == target.shape:
        return None
    if scale_of(first) < scale_of(second):
        first, second = second, first
    struct = sum_of(add, (first, second, target), (1, 1))
    is_other = first.index == others[0].index
    return None if struct is None else _Sum(others[0], target, is_other, struct)


def _pixels(layer: Layer, added: _Sum) -> Kernel:
    """Return the kernel for windows of one pixel."""
    depth, channels = layer.source.shape[3], layer.channels
    bands = _Bands(layer.target.elements // channels, channels)
    constants = matrix_constants(layer, layer.weights.array().reshape(channels, -1), bands.rows)
    nest, views, tables = _declared(layer, added, constants)
    x, *ends = views
    band = nest.workspace("band", "int8", (bands.rows * channels,))
    copy = _room_for(nest, constants[-1])
    with nest.loop("i", bands.count) as i:
        rows, first = bands.inside(i), i * bands.rows
        nest.call(
            matrix_function(depth),
            *(band.data, tirx.address_of(x[first * depth])),
            *(tables[0].data, tables[1].data),
            _changed("ethosgen_matrix_band", copy, tables[2], rows),
        )
        added.add(nest, band, (*ends, tables[-1]), first * channels, rows * channels)
    return nest.kernel(MATRIX | ADDITION)


def _strips(layer: Layer, strips: Strips, added: _Sum) -> Kernel:
    """Return the kernel for windows of several pixels, which are copied to strips."""
    batches, height, width, channels = layer.target.shape
    bands = _Bands(height, width * channels)
    constants = strip_constants(layer, layer.weights.array(), strips, output_steps(layer))
    nest, views, tables = _declared(layer, added, constants)
    x, *ends = views
    strip = nest.workspace("strip", "int8", (strips.bytes,))
    band = nest.workspace("band", "int8", (bands.rows * width * channels,))
    copy = _room_for(nest, constants[-1])
    axis, picture = strips.across, layer.source.elements // batches
    with nest.loops((batches, bands.count), "n i") as (n, i):
        rows, first = bands.inside(i), i * bands.rows
        padding = axis.padding - first * axis.stride
        nest.call(
            convolution_function(strips).name,
            *(band.data, tirx.address_of(x[n * picture]), strip.data),
            *(tables[0].data, tables[1].data),
            _changed("ethosgen_convolution_band", copy, tables[2], padding, rows),
        )
        row = width * channels
        added.add(nest, band, (*ends, tables[-1]), (n * height + first) * row, rows * row)
    return nest.kernel(MATRIX | CONVOLUTION | ADDITION)


def _declared(
    layer: Layer, added: _Sum, constants: Sequence[Array | Struct]
) -> tuple[Nest, list[Any], list[Any]]:
    """Return a nest, its views of input, output and the other tensor, and its tables."""
    nest = Nest()
    x = nest.read("input", layer.source, (layer.source.elements,))
    other = nest.read("other", added.other, (added.other.elements,))
    names = ("weights", "scales", "shape", "sum")
    every = (*constants, added.struct)
    tables = [nest.table(name, values) for name, values in zip(names, every, strict=True)]
    y = nest.write("output", added.target, (added.target.elements,))
    return nest, [x, y, other], tables


def _room_for(nest: Nest, struct: Struct) -> Any:
    """Return temporary memory for a copy of a struct."""
    return nest.workspace("copy", "int8", (structs_of([struct]).nbytes,))


def _changed(function: str, copy: Any, struct: Any, *numbers: Any) -> Any:
    """Return the address of a copy of a struct in which a C function has changed some members."""
    return tirx.call_extern("handle", function, copy.data, struct.data, *map(int32, numbers))
