"""Sums, products, powers and other operators on single elements or pairs."""

from typing import Any

import numpy as np

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Build, Inputs, row


def _above_zero(net: OnnxNetwork, x: str) -> str:
    return net.add("Add", [net.add("Exp", [x]), net.constant(0.5)])


def _binary(op: str, is_positive: bool = False) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = Inputs(net)

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
    x = Inputs(net)
    same = x(1, 3, 4, 4)
    return [
        net.add("Relu", [net.add("Add", [x(1, 3, 4, 4), x(1, 3, 4, 4)])]),
        net.add("Add", [same, same]),
        net.add("Relu", [net.add("Mul", [x(1, 8), x(1, 8)])]),
    ]


@row("Pow")
def powers(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
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
        x = Inputs(net)
        return [net.add(op, [x(*shape)], **attributes) for shape in ((1, 3, 5, 7), (2, 40))]

    return build


for _op, _attributes in UNARY.items():
    row(_op)(_unary(_op, _attributes))


def _positive(op: str) -> Build:
    def build(net: OnnxNetwork) -> list[str]:
        x = Inputs(net)
        return [net.add(op, [_above_zero(net, x(*shape))]) for shape in ((1, 3, 5, 7), (2, 40))]

    return build


for _op in ("Sqrt", "Log", "Reciprocal"):
    row(_op)(_positive(_op))


@row("Gelu (tanh)", "Gelu")
def approximate_gelu(net: OnnxNetwork) -> list[str]:
    return [net.add("Gelu", [Inputs(net)(2, 40)], approximate="tanh")]


@row("Silu", "Sigmoid", "Mul")
def silu(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    products = []
    for shape in ((1, 3, 5, 7), (2, 40)):
        value = x(*shape)
        products.append(net.add("Mul", [value, net.add("Sigmoid", [value])]))
    return products


@row("Gelu (from Erf)", "Div", "Erf", "Add", "Mul")
def composed_gelu(net: OnnxNetwork) -> list[str]:
    value = Inputs(net)(2, 40)
    inner = net.add("Erf", [net.add("Div", [value, net.constant(2.0**0.5)])])
    outer = net.add("Mul", [value, net.add("Add", [inner, net.constant(1.0)])])
    return [net.add("Mul", [outer, net.constant(0.5)])]
