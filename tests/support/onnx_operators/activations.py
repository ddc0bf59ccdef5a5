"""Clamps, PRelu and softmaxes."""

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Inputs, row


@row("PRelu")
def prelu(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("PRelu", [x(1, 4, 5, 5), net.constant(net.random.random((4, 1, 1)))]),
        net.add("PRelu", [x(2, 9), net.constant([0.25])]),
    ]


@row("Clip")
def clips(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("Clip", [x(1, 3, 4, 4), net.constant(0.0), net.constant(6.0)]),
        net.add("Clip", [x(1, 3, 4, 4), net.constant(-0.5), net.constant(0.7)]),
        net.add("Clip", [x(2, 8), "", net.constant(0.7)]),
        net.add("Clip", [x(2, 8), net.constant(-1.0), net.constant(1.0)]),
    ]


@row("Softmax")
def softmaxes(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("Softmax", [x(2, 10)]),
        net.add("Softmax", [x(1, 4, 5, 40)], axis=-1),
        net.add("Softmax", [x(1, 4, 5, 6)], axis=1),
        net.add("Softmax", [x(3, 2)], axis=1),
    ]


@row("LogSoftmax")
def log_softmaxes(net: OnnxNetwork) -> list[str]:
    return [net.add("LogSoftmax", [Inputs(net)(2, 10)])]
