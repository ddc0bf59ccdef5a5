"""Samples that drive each operator of a network to its ends."""

import numpy as np

from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.samples.ends import COUNT, drive_to_ends
from ethosgen.values.excerpt import gather
from ethosgen.values.network import Network
from tests.support.networks import NetworkBuilder


def layers() -> Network:
    net = NetworkBuilder("layers", 5)
    x = net.input((1, 6, 6, 4), "int8", 0.05, 3)
    y = net.conv2d(x, 5, (3, 3), padding="VALID", stride=(3, 3))
    z = net.fully_connected(net.reshape(y, (1, 20)), 7)
    return parse_network(net.build(net.add(z, net.relu(z))), "layers")


def test_each_operator_has_inputs_and_outputs_of_its_own() -> None:
    network = layers()
    bouquet = gather(network, range(len(network.graph.operators)))
    assert bouquet is not None
    codes = [op.code for op in bouquet.network.graph.operators]
    assert codes == [op.code for op in network.graph.operators]
    read = [i for op in bouquet.network.graph.operators for i in op.inputs]
    assert all(read.count(i) == 1 for i in bouquet.network.graph.inputs)
    assert len(bouquet.network.inputs) == len(codes) + 1, "ADD has two"
    for index, tensor in enumerate(bouquet.network.outputs):
        assert bouquet.origin_of(tensor.name) == bouquet.origins[index]


def test_sums_of_layers_become_largest_and_smallest() -> None:
    network = layers()
    for index, code in ((0, "CONV_2D"), (2, "FULLY_CONNECTED")):
        alone = gather(network, [index])
        assert alone is not None
        (operator,), graph = alone.network.graph.operators, alone.network.graph
        assert operator.code == code
        weights = graph.tensors[operator.inputs[1]].array().astype(np.int64)
        rows = weights.reshape(len(weights), -1)
        most = np.where(rows > 0, 127 * rows, -128 * rows).sum(axis=1)
        samples = drive_to_ends(alone.network)
        assert len(samples) == COUNT
        (name,) = samples[0]
        values = samples[4][name].astype(np.int64)
        if code == "CONV_2D":  # windows do not overlap: each has the pattern of one channel
            windows = values.reshape(2, 3, 2, 3, 4).transpose(0, 2, 1, 3, 4).reshape(4, -1)
            reached = [int(window @ rows[n]) for n, window in enumerate(windows)]
            assert reached == most[:4].tolist()
        else:
            assert int(values.reshape(-1) @ rows[0]) == most[0]
        assert set(np.unique(samples[0][name])) == {-128} and set(np.unique(samples[1][name])) == {
            127
        }


def test_two_inputs_meet_at_all_their_ends() -> None:
    alone = gather(layers(), [4])
    assert alone is not None
    first, second = (tensor.name for tensor in alone.network.inputs)
    met = {(int(s[first].flat[0]), int(s[second].flat[0])) for s in drive_to_ends(alone.network)}
    assert {(-128, -128), (127, 127), (-128, 127), (127, -128)} <= met
