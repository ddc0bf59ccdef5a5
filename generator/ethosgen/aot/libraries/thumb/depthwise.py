"""DEPTHWISE_CONV_2D of int8."""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.aot.libraries.framework.calls import CFunction, images_kernel
from ethosgen.aot.libraries.framework.order import packable_layer
from ethosgen.aot.libraries.framework.planes import Planes
from ethosgen.aot.libraries.thumb import cost, order
from ethosgen.aot.libraries.thumb.matrix import Form
from ethosgen.aot.libraries.thumb.shapes import ThumbDepthwise
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.values.network import Operator, Tensor

DEPTHWISE = frozenset({"ethosgen_thumb_depthwise.c", "ethosgen_thumb_plane.h"})
COPIES = frozenset({"ethosgen_thumb_copies.c", "ethosgen_thumb_plane.h"})
DEPTHWISE_3X3 = frozenset({"ethosgen_thumb_depthwise_3x3.c"})
ROWS_3X3 = 4
"""Rows of 3 pixels in the temporary memory for windows of 3 x 3: padding, and copies."""
MOST_PLANE_BYTES = 2048
"""The size of the plane from which a strip gets fewer rows; one row may need more."""


class ThumbPlane(Planes):
    """The plane of a layer: one channel of the input, in bytes."""

    @staticmethod
    def of(vertical: Axis, horizontal: Axis, copies: int) -> "ThumbPlane":
        """Return the plane of a layer with `copies` outputs for each channel of the input."""
        upright = ThumbPlane(vertical, horizontal, is_exchanged=False)
        turned = ThumbPlane(horizontal, vertical, is_exchanged=True)
        if copies > 1 and upright.shares_taps and turned.shares_taps:
            return min(upright, turned, key=lambda plane: plane.cycles(copies))
        return turned if horizontal.taps == 1 < vertical.taps else upright

    def cycles(self, copies: int) -> float:
        """Estimate the cycles for a channel of the input."""
        copied = cost.plane(self.down, self.across, self.strip, self.height(self.strip))
        axes = self.down, self.across
        if self.sums_copies(copies):
            return copied + cost.depthwise_copies(*axes, copies)
        return copied + cost.depthwise(*axes, copies)

    def sums_copies(self, copies: int) -> bool:
        """Return whether 4 outputs of a window are computed at a time, not 4 windows in a row."""
        axes = self.down, self.across
        return copies % cost.CHANNELS == 0 and (
            cost.depthwise_copies(*axes, copies) < cost.depthwise(*axes, copies)
        )

    @property
    def shares_taps(self) -> bool:
        """Whether adjacent windows share the values that the kernel loads."""
        return cost.shares_taps(self.across)

    @property
    def is_3x3(self) -> bool:
        """Whether the windows have 3 x 3 adjacent pixels."""
        return all(axis.taps == 3 and axis.dilation == 1 for axis in (self.down, self.across))

    @property
    def most_rows(self) -> int:
        """The rows of the largest plane."""
        return MOST_PLANE_BYTES // self.row

    @property
    def room(self) -> int:
        """The size of the temporary memory: the kernel reads beyond the last row, but uses nothing
        there.

        It computes 2 outputs as 4.
        """
        return self.values + 2 * self.across.stride

    def shape(self, layer: Layer) -> ThumbDepthwise:
        """Return the struct of a layer."""
        return ThumbDepthwise(**self.numbers(layer))


def cycles(op: Operator, tensors: Sequence[Tensor], form: Form) -> float:
    """Estimate the cycles for each output."""
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], *op.outputs[:1]))
    copies = target.shape[3] // max(source.shape[3], 1)
    axes = make_window(op, (weights.shape[1], weights.shape[2]), source, target)
    plane = ThumbPlane.of(*axes, copies)
    each = plane.cycles(copies) * target.shape[0] * source.shape[3]
    if source.shape[3] == 1:
        convolved = cost.patches(op, tensors)
        each = min(each, convolved) if is_planar(plane, copies) else convolved
    elif is_direct(plane, source, target, form):
        return cost.direct(plane.down, plane.across, target.shape[3])
    return each / max(target.elements, 1)


def is_planar(plane: ThumbPlane, copies: int) -> bool:
    """Return whether a single channel of the input may have a plane instead of a convolution."""
    return copies > 1 and plane.shares_taps


def is_direct(plane: ThumbPlane, source: Tensor, target: Tensor, form: Form) -> bool:
    """Return whether the kernel reads the input without a plane."""
    return plane.is_3x3 and source.shape[3] == target.shape[3] and not form.is_raised


def depthwise(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Compute all outputs; a single input channel is convolved."""
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    copies = layer.channels // max(layer.source.shape[3], 1)
    plane = ThumbPlane.of(*make_window(op, weights.shape[1:3], layer.source, layer.target), copies)
    planar = layer.target.shape[0] * plane.cycles(copies)
    if layer.source.shape[3] == 1 and not (
        is_planar(plane, copies) and planar < cost.patches(op, tensors)
    ):
        return form.multiplication.convolution(op, layer, weights.transpose(3, 1, 2, 0))
    flat = weights.reshape(-1, layer.channels).T
    scales = order.thumb_scales(layer, flat)
    if scales is None:
        return None
    taps = weights[0].transpose(1, 0, 2) if plane.is_exchanged else weights[0]
    shape, packed = plane.shape(layer), order.depthwise_weights(taps)
    if is_direct(plane, layer.source, layer.target, form):
        room = ROWS_3X3 * 3 * layer.channels
        function = CFunction("ethosgen_thumb_depthwise_3x3_s8", DEPTHWISE_3X3, room, ahead=1)
        constants: dict[str, Table] = {"weights": packed, "scales": scales, "shape": shape}
        return images_kernel(layer, function, constants, plane.down)
    scales = order.lowered(scales, flat)
    function = CFunction("ethosgen_thumb_depthwise_s8", DEPTHWISE, plane.room)
    if plane.sums_copies(copies):
        function = CFunction("ethosgen_thumb_copies_s8", COPIES, plane.room)
        packed = order.matrix_weights(packed.reshape(flat.shape))
    constants = {"weights": packed, "scales": scales, "shape": shape}
    return replace(images_kernel(layer, function, constants), in_place=plane.is_whole(layer))
