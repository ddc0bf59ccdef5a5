"""Rows times weights: FULLY_CONNECTED, CONV_2D, and the depthwise convolution of one channel."""

from dataclasses import dataclass

from ethosgen.aot.libraries.framework.calls import CFunction, Constants, Multiplication
from ethosgen.aot.libraries.framework.order import Array, by_group, packable_layer
from ethosgen.aot.libraries.thumb import order
from ethosgen.aot.libraries.thumb.shapes import ThumbMatrix
from ethosgen.aot.loops.layer import Layer

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
        return CFunction(self.function, self.sources, WORD * self.words(depth))

    def for_windows(self, _channels: int, depth: int) -> CFunction:
        """Return the function for windows of `depth` values, which has one name on both."""
        sources = self.sources | {"ethosgen_thumb_convolution.c"}
        room = WORD * self.words(depth) + ROWS * depth
        return CFunction("ethosgen_thumb_convolution_s8", sources, room)

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
        """How the architecture multiplies rows by weights."""
        return Multiplication(packable_layer, self.constants, self.for_rows, self.for_windows)


ARMV7M = Form("ethosgen_thumb_matrix_s8", "ethosgen_thumb_matrix.c", is_raised=False)
ARMV6M = Form("ethosgen_thumb_pairs_s8", "ethosgen_thumb_pairs.c", is_raised=True)
SINGLE = Form("ethosgen_thumb_single_s8", "ethosgen_thumb_single.c", is_raised=False)
"""A convolution to one channel, on either architecture."""
