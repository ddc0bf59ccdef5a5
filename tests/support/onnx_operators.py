"""The operators that ONNX Runtime quantizes, each as a network of several variants.

A row is one operator: a function adds its variants to a network, each with an input of its own, and
returns their results. The quantizer decides what becomes integers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.onnx_networks import OnnxNetwork

Build = Callable[[OnnxNetwork], list[str]]


@dataclass(frozen=True)
class Row:
    """One operator; `also` are operators that its variants need quantized as well."""

    name: str
    build: Build
    also: tuple[str, ...] = ()
    types: tuple[str, ...] = ("int8", "uint8", "int16")
    options: dict[str, Any] = field(default_factory=dict)


ROWS: dict[str, Row] = {}


def row(name: str, *also: str, **settings: Any) -> Callable[[Build], Build]:
    """Add a row whose networks the decorated function builds."""

    def add(build: Build) -> Build:
        ROWS[name] = Row(name, build, also, **settings)
        return build

    return add


class _Inputs:
    """Adds an input for each variant."""

    def __init__(self, net: OnnxNetwork) -> None:
        self.net = net

    def __call__(self, *shape: int) -> str:
        return self.net.add_input(f"x{len(self.net.inputs)}", *shape)


@row("Conv")
def convolutions(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def conv(shape: Sequence[int], kernel: Sequence[int], bias: bool = True, **more: Any) -> str:
        weights = [net.weights(*kernel), *([net.weights(kernel[0])] if bias else [])]
        return net.add("Conv", [x(*shape), *weights], **more)

    return [
        conv((1, 3, 9, 11), (8, 3, 3, 3), pads=[1, 1, 1, 1]),
        conv((1, 3, 9, 11), (8, 3, 3, 3), bias=False, strides=[2, 2]),
        conv((1, 4, 10, 10), (6, 4, 3, 3), pads=[0, 1, 2, 0], strides=[2, 1]),
        conv((1, 4, 12, 12), (6, 4, 3, 3), dilations=[2, 2], pads=[2, 2, 2, 2]),
        conv((1, 6, 8, 8), (8, 3, 3, 3), group=2, pads=[1, 1, 1, 1]),
        conv((1, 6, 8, 8), (6, 1, 3, 3), group=6, pads=[1, 1, 1, 1]),
        conv((1, 6, 8, 8), (12, 1, 3, 3), group=6, strides=[2, 2], auto_pad="SAME_UPPER"),
        conv((1, 6, 8, 8), (6, 1, 5, 5), group=6, strides=[2, 2], auto_pad="SAME_LOWER"),
        conv((1, 4, 20), (8, 4, 3), pads=[1, 1]),
        conv((1, 4, 20), (4, 1, 5), group=4, strides=[2]),
        conv((2, 3, 6, 6), (4, 3, 1, 1)),
        conv((1, 1, 49, 10), (8, 1, 10, 4), strides=[2, 2], pads=[4, 1, 5, 1]),
    ]


@row("Conv + Relu", "Conv", "Relu", "Clip")
def clamped_convolutions(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def conv(depth: int = 3, **more: Any) -> str:
        weights = net.weights(8, depth // more.get("group", 1), 3, 3), net.weights(8)
        return net.add("Conv", [x(1, depth, 8, 8), *weights], pads=[1, 1, 1, 1], **more)

    def clip(value: str, *bounds: float) -> str:
        return net.add("Clip", [value, *[net.constant(bound) for bound in bounds]])

    return [
        net.add("Relu", [conv()]),
        clip(conv(), 0.0, 6.0),
        clip(conv(8, group=8), 0.0, 0.5),
        clip(conv(), -0.3, 0.4),
        net.add("Clip", [conv(), net.constant(-0.2)]),
    ]


@row("ConvTranspose")
def transposed_convolutions(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def conv(shape: Sequence[int], kernel: Sequence[int], **more: Any) -> str:
        weights = net.weights(*kernel), net.weights(kernel[1] * more.get("group", 1))
        return net.add("ConvTranspose", [x(*shape), *weights], **more)

    return [
        conv((1, 4, 5, 6), (4, 6, 3, 3)),
        conv((1, 4, 5, 6), (4, 6, 2, 2), strides=[2, 2]),
        conv((1, 4, 5, 6), (4, 6, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1]),
        conv((1, 4, 5, 6), (4, 6, 4, 4), strides=[2, 2], pads=[1, 1, 1, 1]),
        conv((1, 4, 5, 6), (4, 6, 3, 3), strides=[2, 2], pads=[0, 0, 1, 1]),
        conv((1, 4, 5, 6), (4, 6, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1],
             output_padding=[1, 1]),
        conv((1, 4, 9), (4, 6, 3), strides=[2]),
    ]  # fmt: skip


@row("Gemm")
def gemms(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("Gemm", [x(1, 20), net.weights(10, 20), net.weights(10)], transB=1),
        net.add("Gemm", [x(3, 20), net.weights(20, 10), net.weights(10)]),
        net.add("Gemm", [x(20, 3), net.weights(10, 20), net.weights(10)], transA=1, transB=1),
        net.add("Gemm", [x(20, 3), net.weights(20, 10)], transA=1),
        net.add("Gemm", [x(2, 8), net.weights(8, 4), net.weights(4)], alpha=0.5, beta=2.0),
    ]


@row("MatMul")
def products(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("MatMul", [x(1, 16), net.weights(16, 10)]),
        net.add("MatMul", [x(2, 5, 16), net.weights(16, 10)]),
        net.add("Add", [net.add("MatMul", [x(4, 16), net.weights(16, 10)]), net.weights(10)]),
        net.add("MatMul", [x(5, 8), x(8, 6)]),
        net.add("MatMul", [x(2, 3, 5, 8), x(2, 3, 8, 6)]),
        net.add("MatMul", [x(2, 3, 5, 8), x(8, 6)]),
        net.add("MatMul", [x(2, 5, 8), net.constant(net.random.standard_normal((2, 8, 4)))]),
    ]


@row("MatMul transposed", "MatMul", "Transpose")
def transposed_products(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    keys = net.add("Transpose", [x(2, 5, 8)], perm=[0, 2, 1])
    heads = [net.add("Transpose", [x(1, 6, 2, 4)], perm=[0, 2, 1, 3]) for _ in range(2)]
    turned = net.add("Transpose", [heads[1]], perm=[0, 1, 3, 2])
    return [net.add("MatMul", [x(2, 3, 8), keys]), net.add("MatMul", [heads[0], turned])]


def _above_zero(net: OnnxNetwork, x: str) -> str:
    return net.add("Add", [net.add("Exp", [x]), net.constant(0.5)])


def _binary(op: str, is_positive: bool = False) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = _Inputs(net)

        def constant(*shape: int) -> str:
            values = net.random.standard_normal(shape)
            return net.constant(np.abs(values) + 0.5 if is_positive else values)

        def activation(*shape: int) -> str:
            return _above_zero(net, x(*shape)) if is_positive else x(*shape)

        return [
            net.add(op, [x(1, 4, 5, 6), activation(1, 4, 5, 6)]),
            net.add(op, [x(1, 4, 5, 6), activation(1, 4, 1, 1)]),
            net.add(op, [x(1, 4, 5, 6), constant(4, 1, 1)]),
            net.add(op, [x(2, 7), constant()]),
            net.add(op, [constant(6), activation(3, 6)]),
            net.add(op, [x(3, 5, 6), activation(6)]),
            net.add(op, [x(1, 4, 1, 6), activation(1, 1, 5, 6)]),
        ]

    return build


for _op in ("Add", "Sub", "Mul", "Min", "Max"):
    row(_op)(_binary(_op))
row("Div")(_binary("Div", is_positive=True))


@row("Add + Relu", "Add", "Relu", "Mul")
def clamped_sums(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    same = x(1, 3, 4, 4)
    return [
        net.add("Relu", [net.add("Add", [x(1, 3, 4, 4), x(1, 3, 4, 4)])]),
        net.add("Add", [same, same]),
        net.add("Relu", [net.add("Mul", [x(1, 8), x(1, 8)])]),
    ]


@row("Pow")
def powers(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("Pow", [x(2, 9), net.constant(2.0)]),
        net.add("Pow", [net.add("Abs", [x(2, 9)]), net.constant(0.5)]),
        net.add("Pow", [x(2, 9), net.constant(3.0)]),
    ]


UNARY = {
    "Relu": {},
    "LeakyRelu": {"alpha": 0.1},
    "Sigmoid": {},
    "Tanh": {},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "HardSwish": {},
    "Elu": {"alpha": 1.0},
    "Selu": {},
    "Softplus": {},
    "Softsign": {},
    "Mish": {},
    "Exp": {},
    "Erf": {},
    "Gelu": {},
    "Abs": {},
    "Neg": {},
    "Sin": {},
    "Cos": {},
    "Floor": {},
    "Ceil": {},
    "Round": {},
    "Sign": {},
}
"""Functions of one value, and their attributes."""


def _unary(op: str, attributes: dict[str, Any]) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = _Inputs(net)
        return [net.add(op, [x(*shape)], **attributes) for shape in ((1, 3, 5, 7), (2, 40))]

    return build


for _op, _attributes in UNARY.items():
    row(_op)(_unary(_op, _attributes))


def _positive(op: str) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = _Inputs(net)
        return [net.add(op, [_above_zero(net, x(*shape))]) for shape in ((1, 3, 5, 7), (2, 40))]

    return build


for _op in ("Sqrt", "Log", "Reciprocal"):
    row(_op)(_positive(_op))


@row("Gelu (tanh)", "Gelu")
def approximate_gelu(net: OnnxNetwork) -> list[str]:
    return [net.add("Gelu", [_Inputs(net)(2, 40)], approximate="tanh")]


@row("Silu", "Sigmoid", "Mul")
def silu(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    made = []
    for shape in ((1, 3, 5, 7), (2, 40)):
        value = x(*shape)
        made.append(net.add("Mul", [value, net.add("Sigmoid", [value])]))
    return made


@row("Gelu (from Erf)", "Div", "Erf", "Add", "Mul")
def composed_gelu(net: OnnxNetwork) -> list[str]:
    value = _Inputs(net)(2, 40)
    inner = net.add("Erf", [net.add("Div", [value, net.constant(2.0**0.5)])])
    outer = net.add("Mul", [value, net.add("Add", [inner, net.constant(1.0)])])
    return [net.add("Mul", [outer, net.constant(0.5)])]


@row("PRelu")
def prelu(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("PRelu", [x(1, 4, 5, 5), net.constant(net.random.random((4, 1, 1)))]),
        net.add("PRelu", [x(2, 9), net.constant([0.25])]),
    ]


@row("Clip")
def clips(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("Clip", [x(1, 3, 4, 4), net.constant(0.0), net.constant(6.0)]),
        net.add("Clip", [x(1, 3, 4, 4), net.constant(-0.5), net.constant(0.7)]),
        net.add("Clip", [x(2, 8), "", net.constant(0.7)]),
        net.add("Clip", [x(2, 8), net.constant(-1.0), net.constant(1.0)]),
    ]


@row("Softmax")
def softmaxes(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("Softmax", [x(2, 10)]),
        net.add("Softmax", [x(1, 4, 5, 40)], axis=-1),
        net.add("Softmax", [x(1, 4, 5, 6)], axis=1),
        net.add("Softmax", [x(3, 2)], axis=1),
    ]


@row("LogSoftmax")
def log_softmaxes(net: OnnxNetwork) -> list[str]:
    return [net.add("LogSoftmax", [_Inputs(net)(2, 10)])]


@row("MaxPool")
def max_pools(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def pool(*shape: int, **more: Any) -> str:
        return net.add("MaxPool", [x(*shape)], **more)

    return [
        pool(1, 3, 8, 8, kernel_shape=[2, 2], strides=[2, 2]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1]),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        pool(1, 4, 20, kernel_shape=[2], strides=[2]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], dilations=[2, 2]),
    ]


@row("AveragePool")
def average_pools(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def pool(*shape: int, **more: Any) -> str:
        return net.add("AveragePool", [x(*shape)], **more)

    return [
        pool(1, 3, 8, 8, kernel_shape=[2, 2], strides=[2, 2]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        pool(1, 3, 9, 9, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        pool(1, 3, 8, 8, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
        pool(1, 4, 20, kernel_shape=[2], strides=[2]),
        pool(1, 3, 7, 5, kernel_shape=[7, 5]),
    ]


@row("GlobalAveragePool")
def global_pools(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [net.add("GlobalAveragePool", [x(*s)]) for s in ((1, 6, 7, 7), (2, 4, 5, 3), (1, 4, 20))]


@row("GlobalMaxPool")
def global_max_pools(net: OnnxNetwork) -> list[str]:
    return [net.add("GlobalMaxPool", [_Inputs(net)(1, 6, 7, 7)])]


def _reduction(op: str) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = _Inputs(net)

        def reduce(*shape: int, axes: Sequence[int] | None, keepdims: int) -> str:
            if op == "ReduceMean" or op == "ReduceMax" or op == "ReduceMin":
                given = [] if axes is None else [net.constant(axes, np.int64)]
            else:
                given = [] if axes is None else [net.constant(axes, np.int64)]
            return net.add(op, [x(*shape), *given], keepdims=keepdims)

        return [
            reduce(1, 4, 5, 6, axes=[2, 3], keepdims=1),
            reduce(1, 4, 5, 6, axes=[2, 3], keepdims=0),
            reduce(2, 5, 8, axes=[-1], keepdims=1),
            reduce(2, 5, 8, axes=[1], keepdims=0),
            reduce(1, 4, 5, 6, axes=[1], keepdims=1),
            reduce(2, 9, axes=None, keepdims=1),
        ]

    return build


for _op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
    row(_op)(_reduction(_op))


@row("Concat")
def concats(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    held = net.constant(net.random.standard_normal((1, 2, 4, 5)))
    return [
        net.add("Concat", [x(1, 2, 4, 5), x(1, 3, 4, 5)], axis=1),
        net.add("Concat", [x(1, 2, 4, 5), held], axis=2),
        net.add("Concat", [x(2, 3), x(2, 4), x(2, 5)], axis=-1),
        net.add("Concat", [x(1, 1, 2, 2) for _ in range(10)], axis=1),
    ]


MOVES = ("Relu", "MaxPool")
"""Operators that move elements are quantized only behind an operator that is."""


@row("Split", "Relu", "Split")
def splits(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    made = []
    for shape, axis, sizes in (((1, 6, 4, 4), 1, [2, 4]), ((2, 9), 1, [3, 3, 3])):
        parts = [f"part_{axis}_{len(net.nodes)}_{i}" for i in range(len(sizes))]
        source = net.add("Relu", [x(*shape)])
        net.add_node("Split", [source, net.constant(sizes, np.int64)], parts, axis=axis)
        made += parts
    return made


@row("Slice")
def slices(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def part(shape: Sequence[int], *tables: Sequence[int]) -> str:
        return net.add("Slice", [x(*shape), *[net.constant(t, np.int64) for t in tables]])

    return [
        part((1, 6, 8, 8), [1, 2], [5, 7], [1, 3], [1, 2]),
        part((2, 9), [-4], [-1], [1]),
        part((2, 9), [0], [100], [1], [3]),
        part((2, 9), [8], [-10], [1], [-1]),
    ]


@row("Pad")
def pads(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def pad(shape: Sequence[int], table: Sequence[int], value: float | None, mode: str) -> str:
        more = [] if value is None else [net.constant(value)]
        return net.add("Pad", [x(*shape), net.constant(table, np.int64), *more], mode=mode)

    around = [0, 0, 1, 2, 0, 0, 2, 1]
    return [
        pad((1, 3, 5, 5), around, None, "constant"),
        pad((1, 3, 5, 5), around, 0.0, "constant"),
        pad((1, 3, 5, 5), around, 0.5, "constant"),
        pad((1, 3, 5, 5), [0, 1, 0, 0, 0, 2, 0, 0], None, "constant"),
        pad((1, 3, 5, 5), around, None, "reflect"),
        pad((1, 3, 5, 5), around, None, "edge"),
        pad((2, 6), [0, 1, 0, 2], None, "constant"),
    ]


@row("Resize")
def resizes(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def resize(sizes: Sequence[int], mode: str, coordinates: str, **more: Any) -> str:
        return net.add(
            "Resize",
            [x(1, 3, 6, 5), "", "", net.constant([1, 3, *sizes], np.int64)],
            mode=mode,
            coordinate_transformation_mode=coordinates,
            **more,
        )

    return [
        resize((12, 10), "nearest", "asymmetric", nearest_mode="floor"),
        resize((12, 10), "nearest", "half_pixel", nearest_mode="round_prefer_floor"),
        resize((12, 10), "linear", "half_pixel"),
        resize((12, 10), "linear", "align_corners"),
        resize((12, 10), "linear", "asymmetric"),
        resize((11, 9), "linear", "half_pixel"),
        resize((11, 9), "linear", "align_corners"),
        resize((12, 10), "linear", "pytorch_half_pixel"),
        resize((3, 5), "linear", "half_pixel"),
    ]


@row("Reshape, Flatten, Squeeze, Unsqueeze", "Conv", "Reshape", "Flatten", "Squeeze", "Unsqueeze")
def shapes(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def conv() -> str:
        return net.add("Conv", [x(1, 3, 4, 5), net.weights(6, 3, 1, 1), net.weights(6)])

    def moved(op: str, table: Sequence[int]) -> str:
        return net.add(op, [conv(), net.constant(table, np.int64)])

    pooled = net.add("GlobalAveragePool", [conv()])
    return [
        moved("Reshape", [1, 6, 20]),
        moved("Reshape", [0, 2, -1]),
        net.add("Flatten", [conv()]),
        net.add("Flatten", [conv()], axis=2),
        net.add("Squeeze", [pooled, net.constant([2, 3], np.int64)]),
        moved("Squeeze", [0]),
        moved("Unsqueeze", [1]),
    ]


@row("Transpose", "Conv", "Transpose")
def transposes(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def conv() -> str:
        return net.add("Conv", [x(1, 3, 4, 5), net.weights(6, 3, 1, 1), net.weights(6)])

    return [
        net.add("Transpose", [conv()], perm=[0, 2, 3, 1]),
        net.add("Transpose", [conv()], perm=[0, 3, 1, 2]),
        net.add("Transpose", [net.add("Relu", [x(3, 7)])]),
    ]


@row("Gather", "Relu", "Gather")
def gathers(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def gather(shape: Sequence[int], indices: Any, axis: int) -> str:
        source = net.add("Relu", [x(*shape)])
        return net.add("Gather", [source, net.constant(indices, np.int64)], axis=axis)

    return [
        gather((5, 4), [0, 3, 1], 0),
        gather((2, 5, 4), [[0, -1], [2, 2]], 1),
        gather((2, 5, 4), 1, 1),
    ]


@row("Where", "Relu", "Where")
def wheres(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    mask = net.constant(net.random.random((1, 1, 4, 4)) < 0.5, np.bool_)
    first = net.add("Relu", [x(1, 2, 4, 4)])
    second = net.add("Relu", [x(1, 2, 4, 4)])
    greater = net.add("Greater", [first, second])
    return [
        net.add("Where", [mask, first, second]),
        net.add("Where", [greater, first, second]),
        net.add("Where", [mask, first, net.constant(-1.0)]),
    ]


@row("ArgMax", "Relu", "ArgMax")
def arg_maxima(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("ArgMax", [net.add("Relu", [x(2, 9)])], axis=1, keepdims=0),
        net.add("ArgMax", [net.add("Relu", [x(1, 4, 3, 3)])], axis=1, keepdims=1),
    ]


@row("InstanceNormalization")
def instance_norms(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("InstanceNormalization", [x(1, 4, 6, 6), _gain(net, 4), net.weights(4)]),
        net.add("InstanceNormalization", [x(2, 3, 20), _gain(net, 3), net.weights(3)]),
    ]


def _gain(net: OnnxNetwork, *shape: int) -> str:
    return net.constant(net.random.random(shape) + 0.5)


@row("LayerNormalization")
def layer_norms(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [
        net.add("LayerNormalization", [x(2, 5, 16), _gain(net, 16), net.weights(16)]),
        net.add("LayerNormalization", [x(1, 24), _gain(net, 24)]),
    ]


@row("BatchNormalization", "BatchNormalization", "Conv")
def batch_norms(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def norm(value: str, count: int) -> str:
        mean = net.constant(net.random.standard_normal(count))
        return net.add(
            "BatchNormalization",
            [value, _gain(net, count), net.weights(count), mean, _gain(net, count)],
        )

    conv = net.add("Conv", [x(1, 3, 6, 6), net.weights(5, 3, 3, 3)])
    return [norm(x(1, 4, 5, 5), 4), norm(conv, 5), norm(x(2, 8), 8)]


@row("Expand, Tile", "Relu", "Expand", "Tile")
def repeats(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    source = net.add("Relu", [x(1, 3, 1, 4)])
    return [
        net.add("Expand", [source, net.constant([2, 3, 5, 4], np.int64)]),
        net.add("Tile", [net.add("Relu", [x(2, 3)]), net.constant([1, 2], np.int64)]),
    ]


@row("DepthToSpace, SpaceToDepth", "Relu", "DepthToSpace", "SpaceToDepth")
def blocks(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)

    def relu(*shape: int) -> str:
        return net.add("Relu", [x(*shape)])

    return [
        net.add("DepthToSpace", [relu(1, 8, 3, 4)], blocksize=2, mode="DCR"),
        net.add("DepthToSpace", [relu(1, 8, 3, 4)], blocksize=2, mode="CRD"),
        net.add("SpaceToDepth", [relu(1, 3, 4, 6)], blocksize=2),
    ]


@row("CumSum")
def cumulative_sums(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    return [net.add("CumSum", [x(2, 9), net.constant(1, np.int64)])]


@row("TopK", "Relu", "TopK")
def top_k(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    names = ["values", "places"]
    source = net.add("Relu", [x(2, 9)])
    net.add_node("TopK", [source, net.constant([3], np.int64)], names, axis=1)
    return [names[0]]


@row("GatherElements", "Relu", "GatherElements")
def gathered_elements(net: OnnxNetwork) -> list[str]:
    source = net.add("Relu", [_Inputs(net)(3, 4)])
    places = net.constant(net.random.integers(0, 3, (2, 4)), np.int64)
    return [net.add("GatherElements", [source, places], axis=0)]


@row("LSTM", "Relu")
def lstms(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    hidden, depth = 6, 4
    weights = [net.weights(1, 4 * hidden, depth), net.weights(1, 4 * hidden, hidden)]
    bias = net.weights(1, 8 * hidden)
    net.add_node("LSTM", [x(5, 1, depth), *weights, bias], ["all", "last"], hidden_size=hidden)
    return ["all", "last"]


@row("GRU", "Relu")
def grus(net: OnnxNetwork) -> list[str]:
    x = _Inputs(net)
    hidden, depth = 6, 4
    weights = [net.weights(1, 3 * hidden, depth), net.weights(1, 3 * hidden, hidden)]
    made = []
    for reset in (0, 1):
        names = [f"all_{reset}", f"last_{reset}"]
        inputs = [x(5, 1, depth), *weights, net.weights(1, 6 * hidden)]
        net.add_node("GRU", inputs, names, hidden_size=hidden, linear_before_reset=reset)
        made += names
    return made
