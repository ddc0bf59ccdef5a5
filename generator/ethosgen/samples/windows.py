"""The windows of its input that a layer sums, and how patterns for them fill the input.

A window has the values that one sum reads. The windows are side by side, so the layer reads each as
a whole if its stride is 1 or the size of a window. A layer with rows instead of pictures has
windows of one pixel.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np

from ethosgen.samples.drawing import Array
from ethosgen.values.multiples import pieces
from ethosgen.values.network import ABSENT, Graph, Operator, Tensor

_SOURCES = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 0, "FULLY_CONNECTED": 0, "TRANSPOSE_CONV": 2}
"""Layers by the position of their input; the weights are their second one."""
_BIASES = {"CONV_2D": 2, "DEPTHWISE_CONV_2D": 2, "FULLY_CONNECTED": 2, "TRANSPOSE_CONV": 3}


class WindowKind(Enum):
    """The way in which a layer's sums read a window."""

    WHOLE = auto()
    DEPTHWISE = auto()
    MATRIX = auto()
    """As WHOLE, but batches have columns of their own."""


@dataclass(frozen=True)
class Windows:
    """The weights of a layer, and the bias, as its sums read them from the input `source`.

    `weights` is (window, height, width, depth), without the zero point of `constant`. `channels`
    has the output channel of each row of `rows()`. `lay` fills an input with patterns of the shape
    (round, *weights.shape): round by round, each from the window at `turn`.
    """

    source: Tensor
    constant: Tensor
    bias: Tensor | None
    weights: Array
    channels: Array
    lay: Callable[[Array, int], Array]
    kind: WindowKind = WindowKind.WHOLE

    def thinned(self, most: int) -> "Windows":
        """Return at most about this many of whole windows, all of others."""
        step = max(len(self.weights) // most, 1) if self.kind is WindowKind.WHOLE else 1
        return replace(self, weights=self.weights[::step], channels=self.channels[::step])

    def rows(self) -> Array:
        """Return the weights of each sum; a depthwise window has a sum for each of its channels."""
        count = len(self.channels)
        by_sum = (
            np.moveaxis(self.weights, 3, 1) if self.kind is WindowKind.DEPTHWISE else self.weights
        )
        return by_sum.reshape(count, -1)

    def patterns(self, rows: Array) -> Array:
        """Return patterns from rows of the shape (round, *rows().shape)."""
        if self.kind is not WindowKind.DEPTHWISE:
            return rows.reshape(-1, *self.weights.shape)
        windows, height, width, depth = self.weights.shape
        return np.moveaxis(rows.reshape(-1, windows, depth, height, width), 2, 4)


def windows_of(operator: Operator, graph: Graph) -> Windows | None:
    """Return the windows of a layer, or of a product of matrices, with a constant; else None."""
    tensors = [None if i == ABSENT else graph.tensors[i] for i in operator.inputs]
    if operator.code == "BATCH_MATMUL":
        return _matrices(operator, tensors[0], tensors[1])
    position = _SOURCES.get(operator.code)
    if position is None:
        return None
    source, weights = tensors[position], tensors[1]
    bias = next(iter(tensors[_BIASES[operator.code] :]), None)
    if source is None or source.data is not None or weights is None or weights.data is None:
        return None
    is_picture = operator.code != "FULLY_CONNECTED"
    if (
        weights.dtype == "float32"
        or not weights.elements
        or (is_picture and len(source.shape) != 4)
    ):
        return None
    return _layer(operator, source, weights, bias, _centred(weights, operator.code))


def _layer(
    operator: Operator, source: Tensor, constant: Tensor, bias: Tensor | None, values: Array
) -> Windows | None:
    """Return the windows of a layer with these weights."""
    if operator.code == "FULLY_CONNECTED":
        return _dense(source, constant, bias, values)
    if operator.code == "DEPTHWISE_CONV_2D":
        return _depthwise(source, constant, bias, values)
    channels = np.arange(len(values))
    if operator.code == "TRANSPOSE_CONV":
        steps = int(operator.options["stride_h"]), int(operator.options["stride_w"])
        values, channels = _phases(values, *steps)
    return Windows(source, constant, bias, values, channels, _tiler(source))


def _centred(weights: Tensor, code: str) -> Array:
    """Return weights without their zero point, which other layers ignore."""
    values = weights.array().astype(np.int64)
    known = weights.quantization
    if known and known.zero_point and (weights.dtype == "uint8" or code == "FULLY_CONNECTED"):
        return np.asarray(values - known.zero_point[0])
    return values


def _tiler(source: Tensor) -> Callable[[Array, int], Array]:
    """Return a function that lays windows side by side over an NHWC input."""

    def lay(patterns: Array, turn: int) -> Array:
        _, _, height, width, depth = patterns.shape
        down, across = pieces(source.shape[1], height), pieces(source.shape[2], width)
        grid = _picked(patterns, down * across, turn).reshape(down, across, height, width, depth)
        whole = grid.transpose(0, 2, 1, 3, 4).reshape(down * height, across * width, depth)
        cut = whole[: source.shape[1], : source.shape[2]]
        repeats = pieces(source.shape[3], depth)  # a layer in groups
        cut = np.tile(cut, (1, 1, repeats))[..., : source.shape[3]]
        return np.broadcast_to(cut, source.shape)

    return lay


def _picked(patterns: Array, count: int, turn: int) -> Array:
    """Return `count` windows, each round from the one at `turn`; the first follows the last."""
    flat = np.roll(patterns, -turn, axis=1).reshape(-1, *patterns.shape[2:])
    return np.asarray(flat[np.arange(count) % len(flat)])


def _phases(weights: Array, down: int, across: int) -> tuple[Array, Array]:
    """Return the weights that meet in one output of a transposed layer, and their channels.

    An output reads every stride-th weight, the last one first. Phases with fewer weights than the
    first end in zeros.
    """
    channels, height, width, depth = weights.shape
    rows, columns = pieces(height, down), pieces(width, across)
    phases = np.zeros((channels, down * across, rows, columns, depth), np.int64)
    for phase in range(down * across):
        taps = weights[:, phase // across :: down, phase % across :: across][:, ::-1, ::-1]
        phases[:, phase, : taps.shape[1], : taps.shape[2]] = taps
    by_phase = phases.transpose(1, 0, 2, 3, 4).reshape(-1, rows, columns, depth)
    return by_phase, np.tile(np.arange(channels), down * across)


def _depthwise(
    source: Tensor, constant: Tensor, bias: Tensor | None, values: Array
) -> Windows | None:
    _, height, width, channels = values.shape
    depth = source.shape[3]
    if channels % depth:
        return None
    by_input = values.reshape(height, width, depth, channels // depth)
    order = np.arange(channels).reshape(depth, -1).T.reshape(-1)
    windows, lay = np.moveaxis(by_input, 3, 0), _tiler(source)
    return Windows(source, constant, bias, windows, order, lay, WindowKind.DEPTHWISE)


def _dense(source: Tensor, constant: Tensor, bias: Tensor | None, values: Array) -> Windows | None:
    depth = values.shape[1]
    if source.elements % depth:
        return None

    def lay(patterns: Array, turn: int) -> Array:
        return _picked(patterns, source.elements // depth, turn).reshape(source.shape)

    windows = values.reshape(-1, 1, 1, depth)
    return Windows(source, constant, bias, windows, np.arange(len(values)), lay)


def _matrices(operator: Operator, x: Tensor | None, y: Tensor | None) -> Windows | None:
    """Return the rows for the columns of a constant matrix, or the reverse."""
    if x is None or y is None or (x.data is None) == (y.data is None) or x.dtype == "float32":
        return None
    source, constant = (x, y) if x.data is None else (y, x)
    turned = {x.index: bool(operator.options.get("adj_x"))}
    turned[y.index] = not operator.options.get("adj_y")  # rows of the first multiply its columns
    known = constant.quantization
    values = constant.array().astype(np.int64) - (known.zero_point[0] if known else 0)
    if turned[constant.index]:
        values = np.swapaxes(values, -1, -2)
    *batches, last, depth = source.shape
    rows = depth if turned[source.index] else last

    def lay(patterns: Array, turn: int) -> Array:
        rounds = np.roll(patterns.reshape(-1, *values.shape), -turn, axis=-2)
        order = np.arange(rows)
        columns = values.shape[-2]
        met = np.moveaxis(rounds[order // columns % len(rounds), ..., order % columns, :], 0, -2)
        aligned = met.reshape(*(1,) * (len(source.shape) - met.ndim), *met.shape)
        first = aligned[tuple(slice(0, 1) if n == 1 else slice(None) for n in batches)]
        whole = np.broadcast_to(first, (*batches, *met.shape[-2:]))
        return np.swapaxes(whole, -1, -2) if turned[source.index] else whole

    windows = values.reshape(-1, 1, 1, values.shape[-1])
    channels = np.zeros(len(windows), int)
    return Windows(source, constant, None, windows, channels, lay, WindowKind.MATRIX)
