"""TRANSPOSE_CONV of int8 as ordinary convolutions, one for each phase of its strides."""

from collections.abc import Sequence

from tvm import tirx

from ethosgen.aot.libraries.framework.calls import Constants
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.framework.parts import (
    NAMES,
    ConvolutionPart,
    cheapest_parts,
    most_products,
    part_constants,
    parts_kernel,
)
from ethosgen.aot.libraries.framework.transposed import joined_tables
from ethosgen.aot.libraries.thumb import cost, matrix
from ethosgen.aot.libraries.thumb.matrix import SINGLE, Form
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Nest
from ethosgen.values.network import Operator, Tensor


def transpose_conv(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Convolve the input once for each part, and write its outputs apart.

    None for a single channel in several parts on Armv6-M, where copying its windows costs more
    than it saves.
    """
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_parts(op, tensors, cost.windows)[0]
    if layer is None or not parts:
        return None
    if layer.channels == 1 and len(parts) == 1 and parts[0].across.merged == 1:
        return _single(layer, parts[0])
    if layer.channels == 1 and form.is_raised:
        return None

    def constants(layer: Layer, weights: Array, stride: int) -> Constants | None:
        return matrix.constants(layer, weights, form, stride=stride)

    room, function = matrix.room_bytes(most_products(layer, parts), form), matrix.CONVOLUTION
    return parts_kernel(layer, parts, constants, function, room, form.convolution_sources)


def _single(layer: Layer, part: ConvolutionPart) -> Kernel | None:
    """Convolve the input to one channel in one call for each image, without copies."""
    made = part_constants(layer, part, _single_constants)
    if made is None:
        return None
    nest = Nest()
    x, y = nest.read("input", layer.source), nest.write("output", layer.target)
    tables = joined_tables(nest, dict(zip(NAMES, ([one] for one in made), strict=True)))
    with nest.loop("n", layer.target.shape[0]) as n:
        nest.call(
            SINGLE.function,
            tirx.address_of(y[n, part.down.first, part.across.first, 0]),
            tirx.address_of(x[n, 0, 0, 0]),
            *(table.data for table in tables),
        )
    return nest.kernel(frozenset({SINGLE.source}))


def _single_constants(layer: Layer, weights: Array, stride: int) -> Constants | None:
    return matrix.constants(layer, weights, SINGLE, stride=stride)
