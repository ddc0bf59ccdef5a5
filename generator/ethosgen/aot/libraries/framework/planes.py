"""Planes of a depthwise layer: copies of a channel of the input, some rows at a time."""

from dataclasses import dataclass

from ethosgen.aot.libraries.framework.calls import window_numbers
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis
from ethosgen.aot.tir.quantization import zero_point_of


@dataclass(frozen=True)
class Planes:
    """The planes of a layer; the columns of windows are along `across`, the rows along `down`.

    For windows one column wide they are exchanged, so that taps are adjacent. A library derives a
    class that defines its planes' layout in memory.
    """

    down: Axis
    across: Axis
    is_exchanged: bool

    @property
    def columns(self) -> int:
        """Values of a row that windows reach."""
        return self.across.span(self.across.target)

    @property
    def row(self) -> int:
        """The values from a row to the next."""
        return self.columns

    @property
    def most_rows(self) -> int:
        """The rows of the largest plane; a single row of outputs may need more."""
        raise NotImplementedError

    def height(self, rows: int) -> int:
        """Return the rows that are under the windows of some rows of outputs."""
        return self.down.span(rows)

    @property
    def strip(self) -> int:
        """The rows of outputs that are computed at a time."""
        rows = (self.most_rows - self.height(1)) // self.down.stride + 1
        return min(max(rows, 1), self.down.target)

    def is_whole(self, layer: Layer) -> bool:
        """Whether a whole channel is copied before its only outputs are written."""
        is_one = layer.source.shape[0] == 1 and layer.source.shape[3] == layer.channels
        return is_one and self.strip == self.down.target

    @property
    def values(self) -> int:
        """The size of a plane."""
        return self.height(self.strip) * self.row

    def numbers(self, layer: Layer) -> dict[str, int]:
        """Return the members that the structs of all libraries have."""
        down, across = self.down, self.across
        _, _, width, depth = layer.source.shape
        source, target = (width * depth, depth), (layer.target.shape[2], 1)
        if self.is_exchanged:
            source, target = source[::-1], target[::-1]
        before = min(across.padding, self.columns)
        low, high = layer.whole_bounds
        return {
            "height": down.source,
            "width": min(across.source, self.columns - before),
            "channels": depth,
            "copies": layer.channels // depth,
            "row_bytes": source[0],
            "column_bytes": source[1],
            "zero_point": zero_point_of(layer.source),
            **window_numbers(down, across),
            "before_x": before,
            "plane_row": self.row,
            "plane": self.values,
            "rows": down.target,
            "pixels": across.target,
            "strip": self.strip,
            "output_row": target[0] * layer.channels,
            "output_step": target[1] * layer.channels,
            "low": low,
            "high": high,
        }
