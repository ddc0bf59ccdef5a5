"""Operators of ONNX that TVM's importer would turn into loops, lacks, or cannot import.

A converter returns plain operators of Relax, which `frontend.relax` can read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from tvm import relax
from tvm.ir import Constant

from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import pieces


@dataclass(frozen=True)
class Node:
    """One operator: TVM's builder, its inputs as expressions (None if absent), its attributes."""

    builder: Any
    name: str
    inputs: Sequence[Any]
    attributes: dict[str, Any]
    opset: int

    def operand(self, number: int) -> Any:
        """Return an input, None if it is absent."""
        return self.inputs[number] if number < len(self.inputs) else None

    def array(self, number: int) -> Any:
        """Return a constant input, None if it is absent; UnsupportedError if it is computed."""
        value = self.operand(number)
        if value is None:
            return None
        if isinstance(value, relax.Var):
            value = self.builder.lookup_binding(value)
        name = getattr(getattr(value, "op", None), "name", "")
        if name == "relax.dequantize" and all(isinstance(a, Constant) for a in value.args):
            held, scale, zero = (argument.value.numpy() for argument in value.args)
            if scale.size == 1:
                return (held.astype(np.float32) - zero.astype(np.float32)) * scale
        if not isinstance(value, Constant):
            raise UnsupportedError(f"its input {number + 1} is not constant")
        return value.value.numpy()

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is a string."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)

    def shape(self, number: int = 0) -> tuple[int, ...]:
        """Return the shape of an input."""
        return tuple(int(size) for size in self.inputs[number].ty.shape.values)


_INTEGERS = {2: "uint8", 3: "int8", 5: "int16", 6: "int32", 7: "int64"}
"""Types of integers by onnx.TensorProto's numbers."""

Convert = Callable[[Node], Any]
CONVERTERS: dict[str, Convert] = {}
"""The converter of an operator; it returns None to leave a node to TVM's importer."""


def converts(*names: str) -> Callable[[Convert], Convert]:
    """Declare that a function converts these operators of ONNX."""

    def declare(function: Convert) -> Convert:
        CONVERTERS.update(dict.fromkeys(names, function))
        return function

    return declare


@converts("Clip")
def clip(node: Node) -> Any:
    """Convert to a clip with constant bounds."""
    if node.opset < 11:
        bounds = [node.attributes.get("min"), node.attributes.get("max")]
    else:
        arrays = [node.array(number) for number in (1, 2)]
        bounds = [None if array is None else float(array.reshape(())) for array in arrays]
    low, high = bounds
    low = -np.inf if low is None or np.isnan(low) else float(low)
    high = np.inf if high is None or np.isnan(high) else float(high)
    dtype = str(node.inputs[0].ty.dtype)
    if not dtype.startswith("float"):
        info = np.iinfo(dtype)
        low, high = max(low, info.min), min(high, info.max)
    return relax.op.clip(node.inputs[0], low, high)


@converts("Pad")
def pad(node: Node) -> Any:
    """Convert to a pad with constant widths; "edge" and "wrap" are left to slices."""
    rank = len(node.shape())
    if node.opset < 11:
        widths = list(node.attributes["pads"])
        value = node.attributes.get("value", 0.0)
    else:
        widths = [int(width) for width in node.array(1)]
        held = node.array(2)
        value = 0.0 if held is None else held.reshape(()).item()
        if (axes := node.array(3)) is not None:
            full = [0] * (2 * rank)
            for place, axis in enumerate(axes):
                full[int(axis) % rank] = widths[place]
                full[rank + int(axis) % rank] = widths[len(axes) + place]
            widths = full
    pairs = list(zip(widths[:rank], widths[rank:], strict=True))
    mode = node.text("mode", "constant")
    if mode == "constant" and any(width < 0 for width in widths):
        return _cropped(node, pairs, float(value))
    if mode == "constant":
        flat = [int(width) for pair in pairs for width in pair]
        return relax.op.nn.pad(node.inputs[0], flat, "constant", float(value))
    value = node.inputs[0]
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            size = node.shape()[axis]
            places = np.arange(-before, size + after)
            value = node.builder.normalize(_taken(value, _folded(places, size, mode), axis))
    return value


def _cropped(node: Node, pairs: Sequence[tuple[int, int]], value: float) -> Any:
    """Convert negative widths to a slice, and pad it by the others."""
    starts = [max(-before, 0) for before, _ in pairs]
    ends = [size + min(after, 0) for size, (_, after) in zip(node.shape(), pairs, strict=True)]
    cropped = relax.op.strided_slice(node.inputs[0], list(range(len(pairs))), starts, ends)
    flat = [max(width, 0) for pair in pairs for width in pair]
    if not any(flat):
        return cropped
    return relax.op.nn.pad(node.builder.normalize(cropped), flat, "constant", value)


@converts("Celu")
def celu(node: Node) -> Any:
    """Convert to max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1), which never overflows."""
    x, alpha = node.inputs[0], float(node.attributes.get("alpha", 1.0))

    def add(operator: Any, first: Any, second: Any) -> Any:
        return node.builder.normalize(operator(first, second))

    def number(value: float) -> Any:
        return relax.const(np.float32(value))

    below = add(relax.op.multiply, add(relax.op.minimum, x, number(0)), number(1 / alpha))
    below = add(relax.op.subtract, node.builder.normalize(relax.op.exp(below)), number(1))
    below = add(relax.op.multiply, below, number(alpha))
    return relax.op.add(add(relax.op.maximum, x, number(0)), below)


def _folded(places: Any, size: int, mode: str) -> Any:
    """Return the index into an axis for each position, which may be outside it."""
    if mode == "edge":
        return np.clip(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    if mode != "reflect":
        raise UnsupportedError(f"it has the padding mode {mode}")
    period = max(2 * (size - 1), 1)
    places = places % period
    return np.where(places < size, places, period - places)


def _taken(value: Any, places: Any, axis: int) -> Any:
    return relax.op.take(value, relax.const(places.astype(np.int64)), axis)


@converts("Gather")
def gather(node: Node) -> Any:
    """Convert a choice along an axis; a negative index counts from its end."""
    data, indices = node.inputs[:2]
    if not isinstance(data.ty, relax.TensorType) or not isinstance(indices.ty, relax.TensorType):
        return None
    axis = int(node.attributes.get("axis", 0)) % len(node.shape())
    size = node.shape()[axis]
    if not isinstance(indices, Constant):
        return relax.op.take(data, _from_start(node, indices, size), axis)
    if isinstance(data, Constant):
        return None
    places = indices.value.numpy()
    return _taken(data, np.where(places < 0, places + size, places), axis)


def _from_start(node: Node, indices: Any, size: int) -> Any:
    """Return computed indices in int32, all counted from the start of an axis."""
    if indices.ty.dtype != "int32":
        indices = node.builder.normalize(relax.op.astype(indices, "int32"))
    return node.builder.normalize(relax.op.floor_mod(indices, relax.const(size, "int32")))


@converts("GatherElements")
def gather_elements(node: Node) -> Any:
    """Convert a choice by constants without the computation of negative indices."""
    if not isinstance(node.inputs[1], Constant):
        return None
    return relax.op.gather_elements(
        node.inputs[0], node.inputs[1], int(node.attributes.get("axis", 0))
    )


_PAIRWISE = {
    "Min": relax.op.minimum,
    "Max": relax.op.maximum,
    "Sum": relax.op.add,
}


@converts(*_PAIRWISE, "Mean")
def pairwise(node: Node) -> Any:
    """Convert an operator of any number of operands to operators of two."""
    if any(isinstance(operand.ty, relax.ShapeType) for operand in node.inputs):
        return None
    operator = _PAIRWISE.get(node.name, relax.op.add)
    result = reduce(lambda a, b: node.builder.normalize(operator(a, b)), node.inputs)
    if node.name == "Mean" and len(node.inputs) > 1:
        result = relax.op.multiply(result, relax.const(np.float32(1 / len(node.inputs))))
    return result


@converts("ConvTranspose")
def transposed(node: Node) -> Any:
    """State the padding that output_shape implies, and leave the node to TVM's importer."""
    wanted = node.attributes.pop("output_shape", None)
    if wanted is None:
        return None
    mode = node.text("auto_pad", "NOTSET")
    node.attributes["auto_pad"] = b"NOTSET"
    spatial, window = node.shape()[2:], node.shape(1)[2:]
    ones = [1] * len(spatial)
    strides = node.attributes.get("strides") or ones
    dilations = node.attributes.get("dilations") or ones
    more = list(node.attributes.get("output_padding") or [0] * len(spatial))
    before, after = [], []
    sides = zip(spatial, window, strides, dilations, wanted[-len(spatial) :], strict=True)
    for axis, (size, taps, stride, dilation, out) in enumerate(sides):
        total = stride * (size - 1) + more[axis] + (taps - 1) * dilation + 1 - out
        more[axis] += max(-total, 0)
        less, rest = max(total, 0) // 2, max(total, 0) - max(total, 0) // 2
        before.append(less if mode == "SAME_UPPER" else rest)
        after.append(rest if mode == "SAME_UPPER" else less)
    node.attributes["pads"] = [*before, *after]
    node.attributes["output_padding"] = more
    return None


@converts("Conv", "MaxPool", "AveragePool", "LpPool")
def windowed(node: Node) -> Any:
    """State the padding that auto_pad implies, and leave the node to TVM's importer."""
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("", "NOTSET"):
        return None
    node.attributes["auto_pad"] = b"NOTSET"
    spatial = node.shape()[2:]
    window = node.attributes.get("kernel_shape") or node.shape(1)[2:]
    ones = [1] * len(spatial)
    strides = node.attributes.get("strides") or ones
    dilations = node.attributes.get("dilations") or ones
    before, after = [], []
    for size, taps, stride, dilation in zip(spatial, window, strides, dilations, strict=True):
        total = max((pieces(size, stride) - 1) * stride + (taps - 1) * dilation + 1 - size, 0)
        less, more = total // 2, total - total // 2
        before.append(0 if mode == "VALID" else less if mode == "SAME_UPPER" else more)
        after.append(0 if mode == "VALID" else more if mode == "SAME_UPPER" else less)
    node.attributes["pads"] = [*before, *after]
    return None


@converts("Identity", "Dropout")
def identity(node: Node) -> Any:
    """Remove the operator: a Dropout drops nothing at inference."""
    return node.inputs[0] if node.name == "Identity" else None


@converts("Tile")
def tile(node: Node) -> Any:
    """Convert to a constant repetition."""
    if node.opset < 6:
        return None
    return relax.op.tile(node.inputs[0], [int(count) for count in node.array(1)])


@converts("DepthToSpace")
def depth_to_space(node: Node) -> Any:
    """Leave blocks to TVM's importer; it does not know opset 1, which has no mode."""
    node.attributes.setdefault("mode", b"DCR")
    return None


def require_whole(sizes: Sequence[int], scales: Any) -> None:
    """Refuse scales from which ONNX and its runtimes derive different positions."""
    results = np.array(sizes) * scales
    if np.any(np.abs(results - np.rint(results)) > 1e-4):
        raise UnsupportedError("its scales do not lead to whole sizes; give it sizes instead")


@converts("SpaceToDepth")
def space_to_depth(node: Node) -> Any:
    """Convert the mode CRD, whose channels are outermost; leave the other to TVM's importer."""
    if node.text("mode", "DCR") != "CRD":
        return None
    batch, depth, height, width = node.shape()
    block = int(node.attributes["blocksize"])
    tiles = [batch, depth, height // block, block, width // block, block]
    x = node.builder.normalize(relax.op.reshape(node.inputs[0], tiles))
    x = node.builder.normalize(relax.op.permute_dims(x, [0, 1, 3, 5, 2, 4]))
    return relax.op.reshape(x, [batch, depth * block * block, height // block, width // block])


@converts("Resize")
def resize(node: Node) -> Any:
    """Check that a Resize follows from its sizes alone, and leave it to TVM's importer."""
    scales = node.array(2) if node.opset >= 11 else node.array(1)
    if scales is not None and scales.size:
        require_whole(node.shape()[-scales.size :], scales)
    if node.attributes.get("antialias"):
        raise UnsupportedError("its interpolation is antialiased")
    return None


@converts("Cast")
def cast(node: Node) -> Any:
    """Convert floats to integers without TVM's check for non-finite values."""
    kind = _INTEGERS.get(int(node.attributes["to"]))
    is_float = isinstance(node.inputs[0].ty, relax.TensorType) and str(
        node.inputs[0].ty.dtype
    ).startswith("float")
    return relax.op.astype(node.inputs[0], kind) if kind and is_float else None
