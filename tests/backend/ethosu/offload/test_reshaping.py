"""Operators on the CPU beside ones that rename bytes, which Vela takes for one tensor."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ethosgen.aot import compile_program, make_evaluator
from ethosgen.backend.ethosu.accelerator import find_accelerator
from ethosgen.backend.ethosu.offload import offload
from ethosgen.backend.ethosu.simulator.host import PartitionRunner
from ethosgen.frontend.tflite.reader import parse_network
from ethosgen.oracle.tflm import golden_outputs
from ethosgen.samples.drawing import random_samples
from ethosgen.values.plan import IoStyle
from tests.support.networks import NetworkBuilder

Layer = Callable[[NetworkBuilder, int], int]


def _slice(net: NetworkBuilder, x: int) -> int:
    return net.apply("SLICE", x, [2, 14], [1, 2], scale=None, zero_point=0)


def _pad(net: NetworkBuilder, x: int) -> int:
    return net.pad(x, ((1, 2), (0, 3)))


def _both(net: NetworkBuilder, x: int) -> int:
    return net.pad(_slice(net, net.pad(x, ((1, 2), (0, 3)))), ((0, 1), (1, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("io", IoStyle)
@pytest.mark.parametrize("layer", [_slice, _pad, _both])
def test_an_operator_reads_its_input_in_the_shape_that_it_has(layer: Layer, io: IoStyle) -> None:
    net = NetworkBuilder("renamed", seed=1)
    x = net.input((8, 24), "int32", None)
    other = net.reshape(x, (1, 8, 24))
    _check(net, [other, layer(net, x)], io)


def _check(net: NetworkBuilder, outputs: Sequence[int], io: IoStyle) -> None:
    network = parse_network(net.build(*outputs), "renamed")
    plan = offload(network, find_accelerator("ethos-u55-128"), io)
    assert plan.partitions
    assert compile_program(plan, "renamed").sources
    samples = random_samples(network, 2, 1)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden_outputs(network, samples), strict=True):
        for name, array in evaluate(sample, PartitionRunner(plan)).items():
            np.testing.assert_array_equal(array, wanted[name])


@pytest.mark.parametrize("shape", [(4, 16, 7), (1, 4, 16, 7)])
def test_an_operator_writes_a_tensor_of_velas_own_with_the_scale_that_it_has(
    shape: tuple[int, ...],
) -> None:
    """Vela transposes the second factor and back: the operator before it writes what is between."""
    net = NetworkBuilder("transposed", seed=2)
    x = net.input((*shape[:-2], 13, 7), "int8", 0.05, 3)
    y = net.pad(
        net.input((*shape[:-1], 4), "int8", 0.02, -5), [(0, 0)] * (len(shape) - 1) + [(1, 2)]
    )
    product = net.apply("BATCH_MATMUL", x, y, adj_y=True, scale=0.2)
    network = parse_network(net.build(product), "transposed")
    plan = offload(network, find_accelerator("ethos-u55-128"), ignore=("PAD",))
    assert len(plan.partitions) == 1 and plan.npu_operators == 1
    samples = random_samples(network, 2, 1)
    evaluate = make_evaluator(plan)
    for sample, wanted in zip(samples, golden_outputs(network, samples), strict=True):
        for name, array in evaluate(sample, PartitionRunner(plan)).items():
            np.testing.assert_array_equal(array, wanted[name])
