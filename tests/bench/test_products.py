"""Multiplications, counted by hand."""

import pytest

from bench.products import products
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.values.network import Network
from tests.support.catalogue.layers import transposed
from tests.support.catalogue.recurrent import lstm
from tests.support.networks import NetworkBuilder, Spec
from tests.support.tosa_networks import TosaBuilder


def counted(network: Network) -> int:
    return products(network.graph, network.graph.operators)


def test_layers_multiply_each_output_by_its_weights() -> None:
    net = NetworkBuilder()
    x = net.conv2d(net.input((1, 8, 8, 3)), 5, (3, 3), (2, 2))  # 4 * 4 * 5 outputs of 27 products
    x = net.depthwise(x, (2, 3), padding="VALID")  # 3 * 2 * 5 of 6
    x = net.relu(net.fully_connected(x, 7))  # 7 of 30
    assert counted(parse_network(net.build(x), "layers")) == 2160 + 180 + 210


@pytest.mark.parametrize("turned", [False, True])
def test_matrix_products_sum_over_the_inner_axis(turned: bool) -> None:
    net = NetworkBuilder()
    x, y = net.input((2, 5, 3) if turned else (2, 3, 5)), net.input((2, 5, 4))
    options = {"adj_x": turned}
    out = net.operator("BATCH_MATMUL", [x, y], [Spec((2, 3, 4), "int8", 0.5, 1)], options)
    assert counted(parse_network(net.build(*out), "product")) == 2 * 3 * 4 * 5


def test_an_lstm_multiplies_input_and_state_by_four_gates_in_every_step() -> None:
    net = NetworkBuilder()
    lstm(net, net.input((1, 6, 8), scale=0.02), 10)
    assert counted(parse_network(net.build(), "lstm")) == 6 * 4 * (8 + 10) * 10


def test_a_transposed_convolution_multiplies_each_input() -> None:
    net = NetworkBuilder(seed=1)
    transposed(net, "int8")
    network = parse_network(net.build(), "transposed")
    (operator,) = (op for op in network.graph.operators if op.code == "TRANSPOSE_CONV")
    weights, source = (network.graph.tensors[i] for i in operator.inputs[1:3])
    out, height, width, _ = weights.shape
    assert counted(network) == source.elements * out * height * width > 0


def test_tosas_layers_count_alike() -> None:
    net = TosaBuilder()
    x = net.conv2d(net.input((1, 8, 8, 3)), 5, (3, 3), pad=(1, 0, 1, 0), stride=(2, 2))
    x = net.rescale(x, "int8", 0.01)
    net.layer("DEPTHWISE_CONV2D", x, (2, 3, 5, 2), (1, 3, 2, 10), biases=10, pad=(0,) * 4,
              stride=(1, 1), dilation=(1, 1))  # fmt: skip
    assert counted(net.network()) == 4 * 4 * 5 * 27 + 3 * 2 * 10 * 6
