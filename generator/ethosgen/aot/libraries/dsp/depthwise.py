"""DEPTHWISE_CONV_2D of int8."""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.aot.libraries.dsp import cost, order
from ethosgen.aot.libraries.dsp.lanes import Lanes
from ethosgen.aot.libraries.dsp.matrix import MULTIPLICATION
from ethosgen.aot.libraries.dsp.shapes import DspDepthwise
from ethosgen.aot.libraries.framework.calls import CFunction, images_kernel
from ethosgen.aot.libraries.framework.library import packed
from ethosgen.aot.libraries.framework.order import Array, packable_layer
from ethosgen.aot.libraries.framework.planes import Planes
from ethosgen.aot.libraries.framework.scales import channel_scales
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.values.multiples import pieces
from ethosgen.values.network import Operator, Tensor

DEPTHWISE = frozenset(
    {
        *("ethosgen_dsp_depthwise.c", "ethosgen_dsp_depthwise.h"),
        *("ethosgen_dsp_depthwise_3x3.c", "ethosgen_dsp_depthwise_any.c"),
    }
)
PLANES = 4
"""Channels of the input that are copied at a time."""
MOST_PLANE_BYTES = 4096
"""The size of the planes from which a strip gets fewer rows; one row may need more."""
BEHIND = 4
"""Values behind a plane's row that are read for outputs behind the end of a row."""


def _depthwise(
    layer: Layer, weights: Array, scales: Array, vertical: Axis, horizontal: Axis
) -> Kernel:
    """Return the kernel; `weights` are (row, column, channel)."""
    planes = DspPlanes.of(vertical, horizontal)
    if planes.is_exchanged:
        weights = weights.transpose(1, 0, 2)
    constants: dict[str, Table] = {
        "weights": order.depthwise_weights(weights),
        "scales": order.depthwise_scales(scales),
        "shape": planes.shape(layer),
    }
    function = CFunction("ethosgen_dsp_depthwise_s8", DEPTHWISE, planes.bytes, ahead=planes.strip)
    down = None if planes.is_exchanged else planes.down
    kernel = images_kernel(layer, function, constants, down)
    return replace(kernel, in_place=planes.is_whole(layer))


class DspPlanes(Planes):
    """A layer's planes, for several input channels; values have 16 bits."""

    @staticmethod
    def of(vertical: Axis, horizontal: Axis) -> "DspPlanes":
        """Return the planes of a layer."""
        if horizontal.taps == 1 < vertical.taps:
            return DspPlanes(horizontal, vertical, is_exchanged=True)
        return DspPlanes(vertical, horizontal, is_exchanged=False)

    @property
    def row(self) -> int:
        """The values from a row to the next."""
        return (self.columns + BEHIND + 1) // 2 * 2

    @property
    def most_rows(self) -> int:
        """The rows of the largest planes."""
        return MOST_PLANE_BYTES // (PLANES * self.row * 2)

    @property
    def bytes(self) -> int:
        """The size of the temporary memory: a channel's weights in pairs, and the planes."""
        pairs = self.down.taps * ((self.across.taps + 1) // 2)
        return 4 * pairs + 2 * PLANES * self.values

    @property
    def is_3x3(self) -> bool:
        """Whether the C has a loop for these windows."""
        across = self.across
        is_dense = across.dilation == 1 and across.stride in (1, 2)
        return is_dense and across.taps == self.down.taps == 3 and not self.is_exchanged

    def shape(self, layer: Layer) -> DspDepthwise:
        """Return the struct of a layer."""
        return DspDepthwise(**self.numbers(layer), is_3x3=int(self.is_3x3))

    @property
    def cycles(self) -> float:
        """The estimated cycles of all channels: each input channel with its outputs."""
        down, across = self.down, self.across
        strips = pieces(down.target, self.strip)
        copies = self.values / self.row * strips * (14 + 1.9 * self.columns)
        pairs = (across.taps + 1) // 2
        widened = 0 if self.is_3x3 else strips * down.taps * (8 + 7 * pairs)
        if self.is_3x3:
            run: float = (37 if across.stride == 1 else 41) * ((across.target + 1) // 2)
        elif across.dilation == 1:
            fours, rest = divmod(across.target, 4)
            if fours and rest > 1:
                fours, rest = fours + 1, 0
            run = fours * (80 + down.taps * (34 + 11 * pairs))
            run += rest * (40 + down.taps * (11.5 + 6 * pairs))
        else:
            run = across.target * (25 + down.taps * (8 + 6 * across.taps))
        return copies + 110 * strips + widened + down.target * (22 + run)


def _axes(op: Operator, tensors: Sequence[Tensor]) -> tuple[Axis, Axis]:
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], *op.outputs[:1]))
    return make_window(op, (weights.shape[1], weights.shape[2]), source, target)


def _lanes(op: Operator, tensors: Sequence[Tensor]) -> Lanes:
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    depth = source.shape[3]
    return Lanes(*_axes(op, tensors), depth, target.shape[3] // max(depth, 1))


def _other_cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Estimate the cycles of a picture without lanes."""
    source, target = tensors[op.inputs[0]], tensors[op.outputs[0]]
    if source.shape[3] == 1:
        return cost.patches(op, tensors) / max(target.shape[0], 1)
    return DspPlanes.of(*_axes(op, tensors)).cycles * target.shape[3]


def _cycles(op: Operator, tensors: Sequence[Tensor]) -> float:
    """Estimate the cycles for each output."""
    target, lanes = tensors[op.outputs[0]], _lanes(op, tensors)
    cycles = _other_cycles(op, tensors)
    if lanes.is_known:
        cycles = min(cycles, lanes.cycles)
    return cycles * target.shape[0] / max(target.elements, 1)


@packed("DEPTHWISE_CONV_2D", cycles=_cycles)
def depthwise_conv_2d(op: Operator, tensors: Sequence[Tensor]) -> Kernel | None:
    """Compute the outputs channel by channel; a single input channel is convolved.

    Few outputs are computed 4 channels at a time.
    """
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    weights, lanes = layer.weights.array(), _lanes(op, tensors)
    has_lanes = lanes.is_known and lanes.cycles < _other_cycles(op, tensors)
    if layer.source.shape[3] == 1 and not has_lanes:
        return MULTIPLICATION.convolution(op, layer, weights.transpose(3, 1, 2, 0))
    scales = channel_scales(layer, weights.reshape(-1, layer.channels).T)
    if scales is None:
        return None
    if has_lanes:
        return lanes.kernel(layer, weights[0], scales)
    return _depthwise(layer, weights[0], scales, *_axes(op, tensors))
