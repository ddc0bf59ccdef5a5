"""Normalizations."""

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Inputs, row


@row("InstanceNormalization")
def instance_norms(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("InstanceNormalization", [x(1, 4, 6, 6), _gain(net, 4), net.weights(4)]),
        net.add("InstanceNormalization", [x(2, 3, 20), _gain(net, 3), net.weights(3)]),
    ]


def _gain(net: OnnxNetwork, *shape: int) -> str:
    return net.constant(net.random.random(shape) + 0.5)


@row("LayerNormalization")
def layer_norms(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    return [
        net.add("LayerNormalization", [x(2, 5, 16), _gain(net, 16), net.weights(16)]),
        net.add("LayerNormalization", [x(1, 24), _gain(net, 24)]),
    ]


@row("BatchNormalization", "BatchNormalization", "Conv")
def batch_norms(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)

    def norm(value: str, count: int) -> str:
        mean = net.constant(net.random.standard_normal(count))
        return net.add(
            "BatchNormalization",
            [value, _gain(net, count), net.weights(count), mean, _gain(net, count)],
        )

    conv = net.add("Conv", [x(1, 3, 6, 6), net.weights(5, 3, 3, 3)])
    return [norm(x(1, 4, 5, 5), 4), norm(conv, 5), norm(x(2, 8), 8)]
