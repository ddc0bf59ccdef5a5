"""The sizes of a layer, from which libraries estimate cycles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ethosgen.aot.cost import Cycles
from ethosgen.aot.libraries.framework.parts import PART_ROWS
from ethosgen.values.network import Operator, Tensor


@dataclass(frozen=True)
class LayerSizes:
    """The sizes that determine the loops of a layer or a pool."""

    pixels: int
    channels: int
    depth: int
    taps_y: int
    taps_x: int
    groups: int
    is_point: bool
    is_whole: bool
    """Whether the window is the whole picture."""
    part: int = 0
    """The rows of a part (PART_ROWS); 0 if all are computed together."""

    @property
    def taps(self) -> int:
        """The elements of a window in one channel."""
        return self.taps_y * self.taps_x


def sizes_of(op: Operator, tensors: Sequence[Tensor]) -> LayerSizes:
    """Return the sizes of a convolution, a dense layer or a pool."""
    source, target = tensors[op.inputs[0]].shape, tensors[op.outputs[0]].shape
    channels, total = target[-1], tensors[op.outputs[0]].elements
    if op.code == "FULLY_CONNECTED":
        depth = tensors[op.inputs[1]].shape[-1]
        return LayerSizes(total // channels, channels, depth, 1, 1, 1, True, False)
    taps_y, taps_x, depth = _window(op, tensors)
    step_y, step_x = int(op.options["stride_h"]), int(op.options["stride_w"])
    return LayerSizes(
        total // channels, channels, depth, taps_y, taps_x,
        groups=max(1, source[-1] // depth),
        is_point=taps_y == taps_x == step_y == step_x == 1,
        is_whole=(taps_y, taps_x) == tuple(source[1:3]) and target[1:3] == (1, 1),
    )  # fmt: skip


def _window(op: Operator, tensors: Sequence[Tensor]) -> tuple[int, int, int]:
    """Return the height and width of a window, and the channels that it reads at once."""
    if "filter_height" in op.options:
        depth = tensors[op.inputs[0]].shape[-1]
        return int(op.options["filter_height"]), int(op.options["filter_width"]), depth
    _, height, width, depth = tensors[op.inputs[1]].shape
    return height, width, 1 if op.code == "DEPTHWISE_CONV_2D" else depth


Estimate = Callable[[LayerSizes], float]
"""The cycles of a whole layer."""


def rows_or_patches(rows: Estimate, patches: Estimate) -> Estimate:
    """Return an estimate for convolutions: rows in the input, or copies of windows."""

    def convolution(sizes: LayerSizes) -> float:
        return (rows if sizes.is_point and sizes.groups == 1 else patches)(sizes)

    return convolution


def estimate_of(whole: Estimate) -> Cycles:
    """Return an estimate per element from one for a whole layer."""

    def cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
        sizes = replace(sizes_of(op, tensors), part=abs(op.options.get(PART_ROWS, 0)))
        return whole(sizes) / max(tensors[op.outputs[0]].elements, 1)

    return cycles
