"""Depthwise convolutions of int8, 4 channels of an output at a time: for few outputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ethosgen.aot.libraries.dsp import order, shapes
from ethosgen.aot.libraries.framework.calls import CFunction, images_kernel, window_numbers
from ethosgen.aot.libraries.framework.order import Array
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.aot.tir.quantization import zero_point_of

LANES = frozenset({"ethosgen_dsp_depthwise_lanes.c"})
WIDTH = 4
"""Channels of a block."""
PLACE, SENTINEL = 4, 8
"""Bytes of a pixel's place, and of those behind the last."""


@dataclass(frozen=True)
class Lanes:
    """The blocks of a layer: adjacent channels, or adjacent outputs of one channel."""

    down: Axis
    across: Axis
    channels: int
    copies: int

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """The first channel of each block in the input and in the output.

        An incomplete last block computes some channels of the block before again.
        """
        if self.copies > 1:
            places = _starts(self.copies)
            every = range(self.channels)
            return [(channel, channel * self.copies + p) for channel in every for p in places]
        return [(start, start) for start in _starts(self.channels)]

    @property
    def is_known(self) -> bool:
        """Whether a block has enough channels."""
        return (self.channels if self.copies == 1 else self.copies) >= WIDTH

    @property
    def taps(self) -> int:
        """The taps of a window."""
        return self.down.taps * self.across.taps

    @property
    def cycles(self) -> float:
        """The estimated cycles of all outputs of a picture."""
        each = 22 if self.copies == 1 else 16
        block = 62 + each * ((self.taps + 1) // 2)
        pixel = 90 + 16.0 * self.down.taps + 7 * self.taps + len(self.blocks) * block
        return 60 + self.down.target * self.across.target * pixel

    def kernel(self, layer: Layer, weights: Array, scales: Array) -> Kernel:
        """Return the kernel; `weights` are (row, column, channel)."""
        name = f"ethosgen_dsp_depthwise_{'lanes' if self.copies == 1 else 'copies'}_s8"
        places_bytes = PLACE * ((self.taps + 1) // 2 * 2) + SENTINEL
        constants: dict[str, Table] = {
            "weights": self._weights(weights.reshape(self.taps, -1)),
            "blocks": self._scales(scales),
            "shape": self._shape(layer),
        }
        function = CFunction(name, LANES, places_bytes + self.channels, ahead=1)
        return images_kernel(layer, function, constants, self.down)

    def _weights(self, weights: Array) -> Array:
        """Pack weights of (tap, channel)."""
        even = np.pad(weights, ((0, self.taps % 2), (0, 0)))
        pairs = even.reshape(-1, 2, weights.shape[1])
        some = [pairs[:, :, to : to + WIDTH] for _, to in self.blocks]
        # Axes: block, pair of taps, tap, half of the lanes, odd or even lane.
        split = np.array(some).reshape(len(some), -1, 2, 2, 2)
        return np.ascontiguousarray(split.transpose(0, 1, 4, 2, 3)).reshape(-1)

    def _scales(self, scales: Array) -> Array:
        """Return the blocks with their scales."""
        doubled = order.depthwise_scales(scales).reshape(-1, 4)
        rows = [[place, to, *doubled[to : to + WIDTH].flat] for place, to in self.blocks]
        return np.array(rows, np.int32).reshape(-1)

    def _shape(self, layer: Layer) -> shapes.DspLanes:
        """Return the struct of a layer."""
        down, across = self.down, self.across
        low, high = layer.whole_bounds
        return shapes.DspLanes(
            height=down.source,
            width=across.source,
            channels=self.channels,
            zero_point=zero_point_of(layer.source),
            **window_numbers(down, across),
            rows=down.target,
            columns=across.target,
            outputs=layer.channels,
            blocks=len(self.blocks),
            low=low,
            high=high,
        )


def _starts(count: int) -> Sequence[int]:
    return [min(start, count - WIDTH) for start in range(0, count, WIDTH)]
