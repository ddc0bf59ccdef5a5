"""DEPTHWISE_CONV_2D of int8."""

from collections.abc import Sequence
from dataclasses import dataclass

from ethosgen.aot.libraries.framework.calls import images_kernel
from ethosgen.aot.libraries.framework.order import packable_layer
from ethosgen.aot.libraries.thumb import cost, order
from ethosgen.aot.libraries.thumb.matrix import Form, convolution
from ethosgen.aot.libraries.thumb.shapes import ThumbDepthwise
from ethosgen.aot.loops.layer import Layer
from ethosgen.aot.loops.window import Axis, make_window
from ethosgen.aot.tir.kernel import Kernel
from ethosgen.aot.tir.nest import Table
from ethosgen.aot.tir.quantization import zero_point_of
from ethosgen.values.network import Operator, Tensor

DEPTHWISE = frozenset({"ethosgen_thumb_depthwise.c", "ethosgen_thumb_plane.h"})
COPIES = frozenset({"ethosgen_thumb_copies.c", "ethosgen_thumb_plane.h"})
DEPTHWISE_3X3 = frozenset({"ethosgen_thumb_depthwise_3x3.c"})
ROWS_3X3 = 4
"""Rows of 3 pixels in the temporary memory for windows of 3 x 3: padding, and copies."""
MOST_PLANE_BYTES = 2048
"""The size of the plane from which a strip gets fewer rows; one row may need more."""


@dataclass(frozen=True)
class Plane:
    """The plane of a layer; the columns of windows are along `across`, the rows along `down`.

    Windows that are one column wide have them exchanged, so that their taps are adjacent.
    """

    down: Axis
    across: Axis
    is_exchanged: bool

    @staticmethod
    def of(vertical: Axis, horizontal: Axis, copies: int) -> "Plane":
        """Return the plane of a layer with `copies` outputs for each channel of the input."""
        upright = Plane(vertical, horizontal, is_exchanged=False)
        turned = Plane(horizontal, vertical, is_exchanged=True)
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
    def row(self) -> int:
        """Bytes of a row: the columns that windows reach."""
        across = self.across
        return (across.target - 1) * across.stride + (across.taps - 1) * across.dilation + 1

    def height(self, rows: int) -> int:
        """Return the rows that are under the windows of some rows of outputs."""
        return (rows - 1) * self.down.stride + (self.down.taps - 1) * self.down.dilation + 1

    @property
    def strip(self) -> int:
        """Rows of outputs that are computed at a time."""
        rows = (MOST_PLANE_BYTES // self.row - self.height(1)) // self.down.stride + 1
        return min(max(rows, 1), self.down.target)

    @property
    def bytes(self) -> int:
        """The size of the plane."""
        return self.height(self.strip) * self.row

    @property
    def room(self) -> int:
        """The size of the temporary memory: the kernel reads behind the last row, but uses nothing.

        It computes 2 outputs as 4.
        """
        return self.bytes + 2 * self.across.stride

    def shape(self, layer: Layer) -> ThumbDepthwise:
        """Return the struct of a layer."""
        down, across = self.down, self.across
        _, _, width, depth = layer.source.shape
        source, target = (width * depth, depth), (layer.target.shape[2], 1)
        if self.is_exchanged:
            source, target = source[::-1], target[::-1]
        before = min(across.padding, self.row)
        low, high = layer.whole_bounds
        return ThumbDepthwise(
            height=down.source,
            width=min(across.source, self.row - before),
            channels=depth,
            copies=layer.channels // depth,
            row_bytes=source[0],
            column_bytes=source[1],
            zero_point=zero_point_of(layer.source),
            taps_y=down.taps,
            taps_x=across.taps,
            dilation_y=down.dilation,
            dilation_x=across.dilation,
            stride_y=down.stride,
            stride_x=across.stride,
            before_y=down.padding,
            before_x=before,
            plane_row=self.row,
            plane=self.bytes,
            rows=down.target,
            pixels=across.target,
            strip=self.strip,
            output_row=target[0] * layer.channels,
            output_step=target[1] * layer.channels,
            low=low,
            high=high,
        )


def cycles(op: Operator, tensors: Sequence[Tensor], form: Form) -> float:
    """Estimate the cycles for each output."""
    source, weights, target = (tensors[i] for i in (*op.inputs[:2], *op.outputs[:1]))
    copies = target.shape[3] // max(source.shape[3], 1)
    axes = make_window(op, (weights.shape[1], weights.shape[2]), source, target)
    plane = Plane.of(*axes, copies)
    each = plane.cycles(copies) * target.shape[0] * source.shape[3]
    if source.shape[3] == 1:
        convolved = cost.patches(op, tensors)
        each = min(each, convolved) if is_planar(plane, copies) else convolved
    elif is_direct(plane, source, target, form):
        return cost.direct(plane.down, plane.across, target.shape[3])
    return each / max(target.elements, 1)


def is_planar(plane: Plane, copies: int) -> bool:
    """Return whether a single channel of the input may have a plane instead of a convolution."""
    return copies > 1 and plane.shares_taps


def is_direct(plane: Plane, source: Tensor, target: Tensor, form: Form) -> bool:
    """Return whether the kernel reads the input without a plane."""
    return plane.is_3x3 and source.shape[3] == target.shape[3] and not form.is_raised


def depthwise(op: Operator, tensors: Sequence[Tensor], form: Form) -> Kernel | None:
    """Compute all outputs; a single channel of the input is convolved."""
    layer = packable_layer(op, tensors)
    if layer is None:
        return None
    weights = layer.weights.array()
    copies = layer.channels // max(layer.source.shape[3], 1)
    plane = Plane.of(*make_window(op, weights.shape[1:3], layer.source, layer.target), copies)
    planar = layer.target.shape[0] * plane.cycles(copies)
    if layer.source.shape[3] == 1 and not (
        is_planar(plane, copies) and planar < cost.patches(op, tensors)
    ):
        return convolution(op, layer, weights.transpose(3, 1, 2, 0), form)
    flat = weights.reshape(-1, layer.channels).T
    scales = order.thumb_scales(layer, flat)
    if scales is None:
        return None
    taps = weights[0].transpose(1, 0, 2) if plane.is_exchanged else weights[0]
    shape, packed = plane.shape(layer), order.depthwise_weights(taps)
    if is_direct(plane, layer.source, layer.target, form):
        room, name = ROWS_3X3 * 3 * layer.channels, "ethosgen_thumb_depthwise_3x3_s8"
        constants: dict[str, Table] = {"weights": packed, "scales": scales, "shape": shape}
        return images_kernel(layer, name, constants, room, DEPTHWISE_3X3)
    scales = order.lowered(scales, flat)
    name, sources = "ethosgen_thumb_depthwise_s8", DEPTHWISE
    if plane.sums_copies(copies):
        name, sources = "ethosgen_thumb_copies_s8", COPIES
        packed = order.matrix_weights(packed.reshape(flat.shape))
    constants = {"weights": packed, "scales": scales, "shape": shape}
    return images_kernel(layer, name, constants, plane.room, sources)
