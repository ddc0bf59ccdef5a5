"""A layer of the benchmark by operator, and the builders of layers."""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.support.catalogue import recurrent
from tests.support.catalogue.products import product as product_layer
from tests.support.catalogue.products import transposed as transposed_layer
from tests.support.networks import NetworkBuilder

Pair = tuple[int, int]
Image = tuple[int, int, int]
"""Height, width and channels."""
Build = Callable[[NetworkBuilder, str], int]
"""Adds the inputs and the operator to a network in a type; returns the output's tensor."""

INT8, INT16, FLOAT = "int8", "int16", "float32"
DRAWN, FRESH = "drawn", "fresh"
"""Origins: layers drawn at random, the same ones each time or by a new seed."""
FIRST_LAYER_CHANNELS = 4
_STEP = 0.05
"""The scale of inputs."""


@dataclass(frozen=True)
class Shape:
    """A layer: the origin is a published network, DRAWN or FRESH."""

    name: str
    family: str
    origin: str
    build: Build
    dtypes: tuple[str, ...]

    def file(self, dtype: str) -> bytes:
        """Return a network of this layer alone; its constants depend only on the name."""
        net = NetworkBuilder(self.name, seed=zlib.crc32(self.name.encode()))
        return net.build(self.build(net, dtype))


@dataclass(frozen=True)
class Case:
    """A shape in one type."""

    shape: Shape
    dtype: str

    @property
    def name(self) -> str:
        """The key of its figures."""
        return f"{self.shape.name} {self.dtype}"

    @property
    def file(self) -> bytes:
        """A network of this layer alone."""
        return self.shape.file(self.dtype)


@dataclass(frozen=True)
class Layer:
    """A layer without a name: its family, a text that tells its sizes, and its builder."""

    family: str
    sizes: str
    build: Build
    dtypes: tuple[str, ...] = (INT8, INT16, FLOAT)


def _text(*sizes: int) -> str:
    return "x".join(map(str, sizes))


def _window(kernel: Pair, stride: Pair, padding: str, dilation: Pair) -> str:
    parts = [f"k{_text(*kernel)}"]
    parts += [f"s{_text(*stride)}"] if stride != (1, 1) else []
    parts += [f"d{_text(*dilation)}"] if dilation != (1, 1) else []
    parts += ["valid"] if padding == "VALID" and kernel != (1, 1) else []
    return "_".join(parts)


def image(net: NetworkBuilder, size: Sequence[int], dtype: str) -> int:
    """Add an input; floats have no scale."""
    return net.input(size, dtype, None if dtype == FLOAT else _STEP)


# ---- windows -------------------------------------------------------------------------------------


def conv(
    size: Image,
    channels: int,
    kernel: Pair = (1, 1),
    stride: Pair = (1, 1),
    padding: str = "SAME",
    dilation: Pair = (1, 1),
    groups: int = 1,
    activation: str = "RELU",
) -> Layer:
    """Return a CONV_2D."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (1, *size), dtype)
        return net.conv2d(x, channels, kernel, stride, padding, activation, dilation, groups=groups)

    if groups > 1:
        family = "convolution in groups"
    elif dilation != (1, 1):
        family = "convolution, dilated"
    elif size[2] <= FIRST_LAYER_CHANNELS and kernel != (1, 1):
        family = "convolution, 1 to 4 channels"
    elif kernel == (1, 1):
        family = "convolution 1x1"
    elif 1 in kernel:
        family = "convolution kx1, 1xk"
    else:
        family = "convolution kxk"
    sizes = f"{_text(*size)}_{channels}_{_window(kernel, stride, padding, dilation)}"
    return Layer(family, sizes + (f"_g{groups}" if groups > 1 else ""), build)


def depthwise(
    size: Image,
    kernel: Pair = (3, 3),
    stride: Pair = (1, 1),
    padding: str = "SAME",
    dilation: Pair = (1, 1),
    multiplier: int = 1,
    activation: str = "RELU",
) -> Layer:
    """Return a DEPTHWISE_CONV_2D."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (1, *size), dtype)
        return net.depthwise(x, kernel, stride, padding, activation, dilation, multiplier)

    if multiplier > 1:
        family = "depthwise with a multiplier"
    elif dilation != (1, 1):
        family = "depthwise, dilated"
    elif 1 in kernel:
        family = "depthwise kx1, 1xk"
    elif kernel == (3, 3):
        family = "depthwise 3x3"
    else:
        family = "depthwise, other windows"
    sizes = f"{_text(*size)}_{_window(kernel, stride, padding, dilation)}"
    return Layer(family, sizes + (f"_m{multiplier}" if multiplier > 1 else ""), build)


def transposed(
    size: Image, channels: int, kernel: Pair, stride: Pair, padding: str = "SAME"
) -> Layer:
    """Return a TRANSPOSE_CONV."""

    rows, columns = (  # it grows by the strides, or by as much as VALID allows
        n * s if padding == "SAME" else (n - 1) * s + k
        for n, s, k in zip(size, stride, kernel, strict=False)
    )
    scale = _STEP * math.prod(kernel) ** 0.5 * size[2] ** 0.5

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (1, *size), dtype)
        return transposed_layer(
            net, x, (rows, columns), channels, kernel, stride, padding=padding, scale=scale
        )

    sizes = f"{_text(*size)}_{channels}_{_window(kernel, stride, padding, (1, 1))}"
    return Layer("transposed convolution", sizes, build)


def pool(
    kind: str, size: Image, kernel: Pair, stride: Pair | None = None, padding: str = "VALID"
) -> Layer:
    """Return an average or max pool."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (1, *size), dtype)
        add = net.average_pool if kind == "average" else net.max_pool
        return add(x, kernel, stride, padding=padding)

    sizes = f"{_text(*size)}_{_window(kernel, stride or kernel, padding, (1, 1))}"
    return Layer(f"{kind} pool", sizes, build)


# ---- products ------------------------------------------------------------------------------------


def dense(depth: int, units: int, rows: int = 1, activation: str = "NONE") -> Layer:
    """Return a FULLY_CONNECTED over one row or several."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return net.fully_connected(image(net, (rows, depth), dtype), units, activation)

    family = "dense, one row" if rows == 1 else "dense, several rows"
    return Layer(family, f"{_text(rows, depth)}_{units}", build)


def product(batch: int, rows: int, depth: int, columns: int, is_turned: bool = False) -> Layer:
    """Return a BATCH_MATMUL of two inputs; the second may be turned (adj_y)."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (batch, rows, depth), dtype)
        y = image(net, (batch, columns, depth) if is_turned else (batch, depth, columns), dtype)
        return product_layer(net, x, y, adj_y=is_turned, scale=_STEP * depth**0.5)

    sizes = f"{batch}_{_text(rows, depth, columns)}" + ("_turned" if is_turned else "")
    return Layer("matrix product", sizes, build)


def lstm(steps: int, features: int, units: int) -> Layer:
    """Return a UNIDIRECTIONAL_SEQUENCE_LSTM."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return recurrent.lstm(net, image(net, (1, steps, features), dtype), units)

    return Layer("LSTM", f"{_text(steps, features)}_{units}", build)


def svdf(features: int, units: int, memory: int, rank: int = 1) -> Layer:
    """Return an SVDF."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (1, features), dtype)
        return recurrent.svdf(net, x, units, memory, rank=rank)

    return Layer("SVDF", f"{features}_{units}_t{memory}_r{rank}", build, (INT8, FLOAT))


# ---- the rest ------------------------------------------------------------------------------------


def pair(code: str, size: Sequence[int], other: Sequence[int] | None = None) -> Layer:
    """Return an ADD, MUL, MINIMUM or MAXIMUM; two sizes that differ are broadcast."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x, y = image(net, size, dtype), image(net, other or size, dtype)
        add = {"ADD": net.add, "MUL": net.mul, "MINIMUM": net.minimum, "MAXIMUM": net.maximum}
        return add[code](x, y)

    family = code if other is None else f"{code}, broadcast"
    sizes = _text(*size) + (f"_{_text(*other)}" if other else "")
    return Layer(family, sizes, build)


def softmax(rows: int, columns: int) -> Layer:
    """Return a SOFTMAX over rows."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return net.softmax(image(net, (rows, columns), dtype))

    return Layer("SOFTMAX", _text(rows, columns), build)


def curve(code: str, size: Sequence[int]) -> Layer:
    """Return a LOGISTIC or TANH."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, size, dtype)
        if dtype == FLOAT:
            return net.unary(code, x)
        return net.logistic(x) if code == "LOGISTIC" else net.tanh(x)

    return Layer("LOGISTIC, TANH", f"{code.lower()}_{_text(*size)}", build)


def mean(size: Image, axes: Sequence[int] = (1, 2)) -> Layer:
    """Return a MEAN."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return net.mean(image(net, (1, *size), dtype), axes)

    return Layer("MEAN", f"{_text(*size)}_a{_text(*axes)}", build)


def pad(size: Image, paddings: Sequence[Pair]) -> Layer:
    """Return a PAD of height, width and channels."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return net.pad(image(net, (1, *size), dtype), [(0, 0), *paddings])

    told = "_".join(_text(*sides) for sides in paddings)
    return Layer("PAD", f"{_text(*size)}_{told}", build)


def concatenation(sizes: Sequence[Image], axis: int = -1) -> Layer:
    """Return a CONCATENATION of inputs of one quantization."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return net.concat([image(net, (1, *size), dtype) for size in sizes], axis)

    told = "_".join(_text(*size) for size in sizes)
    return Layer("CONCATENATION", f"{told}_a{axis % 4}", build)


def resized(kind: str, size: Image, height: int, width: int, is_centred: bool = False) -> Layer:
    """Return a RESIZE_BILINEAR or RESIZE_NEAREST_NEIGHBOR."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        x = image(net, (1, *size), dtype)
        target = height, width
        return net.apply(f"RESIZE_{kind}", x, target, half_pixel_centers=is_centred)

    types = (INT8, FLOAT) if kind == "BILINEAR" else (INT8, INT16, FLOAT)
    name = f"{kind.partition('_')[0].lower()}_{_text(*size)}_{_text(height, width)}"
    return Layer("RESIZE", name + ("_centred" if is_centred else ""), build, types)


def transpose(size: Sequence[int], order: Sequence[int]) -> Layer:
    """Return a TRANSPOSE."""

    def build(net: NetworkBuilder, dtype: str) -> int:
        return net.transpose(image(net, size, dtype), order)

    return Layer("TRANSPOSE", f"{_text(*size)}_o{''.join(map(str, order))}", build)
