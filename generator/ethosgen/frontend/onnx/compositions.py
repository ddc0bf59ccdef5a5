"""Operators of ONNX that become several of Relax: Conv in 3-D, and cubic Resize."""

from functools import reduce
from typing import Any

import numpy as np
from tvm import relax

from ethosgen.frontend.onnx import converters
from ethosgen.frontend.onnx.converters import Node
from ethosgen.values.errors import UnsupportedError


def convolution(node: Node) -> Any:
    """Convert a Conv in 3-D to one in 2-D, whose channels are those of the planes in its window.

    Each group's channels are contiguous, its planes from front to back. Other ranks are left.
    """
    expression = converters.windowed(node)
    if len(node.shape()) != 5:
        return expression

    def emit(value: Any) -> Any:
        return node.builder.normalize(value)

    attributes = node.attributes
    weights = [int(size) for size in node.shape(1)]
    groups = int(attributes.get("group", 1))
    strides = [int(stride) for stride in attributes.get("strides") or (1, 1, 1)]
    dilations = [int(dilation) for dilation in attributes.get("dilations") or (1, 1, 1)]
    pads = [int(pad) for pad in attributes.get("pads") or (0,) * 6]
    kernel = emit(relax.op.permute_dims(node.inputs[1], [0, 2, 1, 3, 4]))
    kernel = emit(relax.op.reshape(kernel, [weights[0], weights[1] * weights[2], *weights[3:]]))
    planes = _planes(node, groups, strides[0], dilations[0], (pads[0], pads[3]))
    batch, depth, _, *plane = (int(size) for size in planes.ty.shape.values)
    channels = groups * weights[1] * weights[2]
    planes = emit(relax.op.reshape(planes, [batch * depth, channels, *plane]))
    expression = emit(
        relax.op.nn.conv2d(
            planes,
            kernel,
            strides[1:],
            [pads[1], pads[2], pads[4], pads[5]],
            dilations[1:],
            groups,
        )
    )
    if (bias := node.operand(2)) is not None:
        bias = emit(relax.op.reshape(bias, [1, weights[0], 1, 1]))
        expression = emit(relax.op.add(expression, bias))
    sizes = [int(size) for size in expression.ty.shape.values]
    expression = emit(relax.op.reshape(expression, [batch, depth, *sizes[1:]]))
    return relax.op.permute_dims(expression, [0, 2, 1, 3, 4])


def _planes(node: Node, groups: int, stride: int, gap: int, pads: tuple[int, int]) -> Any:
    """Return the planes of each window along the depth, joined as channels: (N, D, C, H, W)."""

    def emit(value: Any) -> Any:
        return node.builder.normalize(value)

    channels, depth = node.shape()[1], node.shape()[2] + sum(pads)
    taps = node.shape(1)[2]
    source = node.inputs[0]
    if any(pads):
        source = emit(relax.op.nn.pad(source, [0, 0, 0, 0, *pads, 0, 0, 0, 0]))
    source = emit(relax.op.permute_dims(source, [0, 2, 1, 3, 4]))
    count = (depth - (taps - 1) * gap - 1) // stride + 1
    size = channels // groups
    parts = [
        emit(
            relax.op.strided_slice(
                source,
                [1, 2],
                [tap * gap, group * size],
                [tap * gap + (count - 1) * stride + 1, (group + 1) * size],
                [stride, 1],
            )
        )
        for group in range(groups)
        for tap in range(taps)
    ]
    return parts[0] if len(parts) == 1 else emit(relax.op.concat(parts, 2))


def resize(node: Node) -> Any:
    """Convert a cubic Resize to a product with a constant matrix along each changed axis."""
    if node.text("mode", "nearest") != "cubic" or node.attributes.get("antialias"):
        return converters.resize(node)
    scales, sizes = node.array(2), node.array(3)
    shape = node.shape()
    targets = scales if scales is not None and scales.size else sizes
    assert targets is not None
    axes = [int(axis) % len(shape) for axis in node.attributes.get("axes") or range(len(shape))]
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise UnsupportedError("it keeps the aspect ratio; give it the sizes that follow")
    expression = node.inputs[0]
    if targets is scales and node.text("coordinate_transformation_mode", "") == "align_corners":
        converters.require_whole([shape[axis] for axis in axes], scales)
    for axis, number in zip(axes, targets.reshape(-1), strict=True):
        size = shape[axis]
        out = int(number) if targets is sizes else int(np.rint(size * number))
        if out != size or (targets is scales and number != 1):
            scale = float(number) if targets is scales else out / size
            expression = _along(node, expression, axis, _cubic_matrix(node, size, out, scale))
    return expression


def _along(node: Node, value: Any, axis: int, matrix: Any) -> Any:
    """Multiply by a matrix along an axis."""

    def emit(value: Any) -> Any:
        return node.builder.normalize(value)

    rank = len(value.ty.shape.values)
    order = [*(i for i in range(rank) if i != axis), axis]
    moved = emit(relax.op.permute_dims(value, order))
    moved = emit(relax.op.matmul(moved, relax.const(matrix.astype(np.float32))))
    return emit(relax.op.permute_dims(moved, [order.index(i) for i in range(rank)]))


def _cubic_matrix(node: Node, size: int, out: int, scale: float) -> Any:
    """Return the weights of `size` elements, as rows, in each of `out` results."""
    a = float(node.attributes.get("cubic_coeff_a", -0.75))
    at = _places(node.text("coordinate_transformation_mode", "half_pixel"), size, out, scale)
    first = np.floor(at)
    part = at - first
    matrix = np.zeros((size, out))
    taps = [(first + tap, _cubic_weight(np.abs(part - tap), a)) for tap in (-1, 0, 1, 2)]
    if node.attributes.get("exclude_outside"):
        taps = [(place, np.where((place < 0) | (place >= size), 0, w)) for place, w in taps]
        total = reduce(np.add, (weight for _, weight in taps))
        taps = [(place, weight / total) for place, weight in taps]
    for place, weight in taps:
        np.add.at(matrix, (np.clip(place, 0, size - 1).astype(int), np.arange(out)), weight)
    return matrix


def _cubic_weight(distance: Any, a: float) -> Any:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, far)


def _places(mode: str, size: int, out: int, scale: float) -> Any:
    """Return the position of each result among the elements."""
    places = np.arange(out, dtype=np.float64)
    if mode == "pytorch_half_pixel" and out == 1:
        return np.zeros(1)
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (places + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        offset = size / 2 * (1 - out / (scale * size))
        return offset + (places + 0.5) / scale - 0.5
    if mode == "align_corners":
        return places * (size - 1) / max(out - 1, 1)
    if mode == "asymmetric":
        return places / scale
    raise UnsupportedError(f"its coordinates are {mode}")
