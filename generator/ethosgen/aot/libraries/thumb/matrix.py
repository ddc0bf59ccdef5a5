"""Rows times weights: FULLY_CONNECTED, CONV_2D, the depthwise convolution of one channel.

TRANSPOSE_CONV becomes ordinary convolutions, one for each phase of its strides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.aot.libraries.framework.calls import CFunction, Constants, Multiplication
from ethosgen.aot.libraries.framework.order import Array, by_group, packable_layer
from ethosgen.aot.libraries.framework.transposed import cheapest_windows, windows_of_parts
from ethosgen.aot.libraries.thumb import cost, order
from ethosgen.aot.libraries.thumb.shapes import ThumbMatrix
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.values.network import Operator, Tensor

ROWS = 2
"""Rows that the kernel multiplies at a time."""
WORD = 4


@dataclass(frozen=True)
class Form:
    """The kernel of an architecture; `is_raised` if it adds 128 to weights and values."""

    function: str
    source: str
    is_raised: bool

    @property
    def sources(self) -> frozenset[str]:
        """The files that the kernel needs."""
        return frozenset({self.source, "ethosgen_thumb_tile.h"})

    def words(self, depth: int) -> int:
        """Return the words of temporary memory."""
        return depth if self.is_raised else 0

    def for_rows(self, _channels: int, depth: int) -> CFunction:
        """Return the function for rows that are contiguous in the input."""
        ahead = 0 if self.is_raised else ROWS  # those of Armv6-M are copied first
        return CFunction(self.function, self.sources, WORD * self.words(depth), ahead=ahead)

    def for_windows(self, _channels: int, depth: int) -> CFunction:
        """Return the function for windows of `depth` values; both architectures use one name."""
        sources = self.sources | {"ethosgen_thumb_convolution.c"}
        room = WORD * self.words(depth) + ROWS * depth
        return CFunction("ethosgen_thumb_convolution_s8", sources, room, ahead=1)

    def constants(
        self, layer: Layer, weights: Array, groups: int = 1, stride: int | None = None
    ) -> Constants | None:
        """Return packed weights and scales, group by group, and the struct of the layer.

        The outputs of a row and those of the next are `stride` apart, or else adjacent. None if the
        kernel cannot compute the layer.
        """
        scales = order.thumb_scales(layer, weights)
        if scales is None:
            return None
        if self.is_raised:
            scales, weights = order.lowered(scales, weights), order.raised(weights)
        low, high = layer.whole_bounds
        matrix = ThumbMatrix(
            depth=weights.shape[1],
            channels=layer.channels // groups,
            stride=stride or layer.channels,
            low=low,
            high=high,
            words=self.words(weights.shape[1]),
        )
        return (
            by_group(order.matrix_weights, weights, groups),
            by_group(order.matrix_scales, scales, groups),
            matrix,
        )

    @property
    def multiplication(self) -> Multiplication:
        """The architecture's multiplication of rows by weights."""
        return Multiplication(packable_layer, self.constants, self.for_rows, self.for_windows)


ARMV7M = Form("ethosgen_thumb_matrix_s8", "ethosgen_thumb_matrix.c", is_raised=False)
ARMV6M = Form("ethosgen_thumb_pairs_s8", "ethosgen_thumb_pairs.c", is_raised=True)
SINGLE = Form("ethosgen_thumb_single_s8", "ethosgen_thumb_single.c", is_raised=False)
"""A convolution to one channel, on either architecture."""


def transpose_conv(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Convolve the input once for each part, and write the part's outputs at their stride.

    A single channel in one part needs no copies. None for a single channel in several parts on
    Armv6-M, where copying its windows costs more than it saves.
    """
    layer = packable_layer(op, tensors)
    parts = () if layer is None else cheapest_windows(op, tensors, cost.windows)[0]
    if layer is None or not parts:
        return None
    if len(parts) == parts[0].channels == 1:
        function = CFunction(SINGLE.function, frozenset({SINGLE.source}))
        return windows_of_parts(layer, parts, SINGLE.constants, function)
    if layer.channels == 1 and form.is_raised:
        return None
    function = form.for_windows(layer.channels, max(part.products for part in parts))
    return windows_of_parts(layer, parts, form.constants, function)
