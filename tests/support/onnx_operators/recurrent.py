"""Recurrent layers."""

from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_operators.rows import Inputs, row


@row("LSTM", "Relu")
def lstms(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    hidden, depth = 6, 4
    weights = [net.weights(1, 4 * hidden, depth), net.weights(1, 4 * hidden, hidden)]
    bias = net.weights(1, 8 * hidden)
    net.add_node("LSTM", [x(5, 1, depth), *weights, bias], ["all", "last"], hidden_size=hidden)
    return ["all", "last"]


@row("GRU", "Relu")
def grus(net: OnnxNetwork) -> list[str]:
    x = Inputs(net)
    hidden, depth = 6, 4
    weights = [net.weights(1, 3 * hidden, depth), net.weights(1, 3 * hidden, hidden)]
    outputs = []
    for reset in (0, 1):
        names = [f"all_{reset}", f"last_{reset}"]
        inputs = [x(5, 1, depth), *weights, net.weights(1, 6 * hidden)]
        net.add_node("GRU", inputs, names, hidden_size=hidden, linear_before_reset=reset)
        outputs += names
    return outputs
