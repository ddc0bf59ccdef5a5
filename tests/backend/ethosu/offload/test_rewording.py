"""Networks that Vela misreads as they are: it gets the same values in other words."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ethosgen import flow
from ethosgen.aot import make_evaluator
from ethosgen.backend import find_accelerator
from ethosgen.backend.ethosu.offload.rewording import reworded
from ethosgen.flow.planning import PlanSettings, make_plan
from ethosgen.frontend.tflite.reader import decode_network, parse_network
from ethosgen.frontend.tflite.writer import file_of
from ethosgen.oracle import DEFAULT
from ethosgen.values.network import PLACEMENT, Quantization, Tensor
from ethosgen.values.plan import EXACT
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import PlanRunner
from ethosgen.verdict.judgement import Inputs
from tests.support.catalogue.layers import int4_constant
from tests.support.network_file import with_own_buffers, with_signatures
from tests.support.networks import NetworkBuilder


def with_int4_weights() -> bytes:
    net = NetworkBuilder("narrow", seed=2)
    x = net.input((1, 6, 5, 3))
    w = int4_constant(net, net.random_integers((7, 3, 3, 3)), (0.1,), 0)
    to = {"scale": 0.5, "zero_point": 4}
    y = net.apply("CONV_2D", x, w, padding="SAME", stride_h=1, stride_w=1, **to)
    v = int4_constant(net, net.random_integers((3, 210)), (0.1,), 0)
    return net.build(net.apply("FULLY_CONNECTED", y, v, -1, scale=8.0, zero_point=0))


def with_stale_signatures() -> bytes:
    """Return layers that were made for 6 x 6 and then grown, as CFU-Playground's were."""
    net = NetworkBuilder("grown", seed=5)
    x = net.input((1, 10, 12, 3))
    x = net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2))
    y = net.fully_connected(net.max_pool(net.conv2d(x, 4), (2, 2)), 3)
    signatures = {
        index: (-1, *(max(size // 2, 1) for size in tensor.shape[1:3]), tensor.shape[3])
        for index, tensor in enumerate(net.tensors)
        if len(tensor.shape) == 4 and tensor.data is None
    }
    return with_signatures(net.build(y), signatures)


def with_an_empty_constant() -> bytes:
    """Return a layer, and RESHAPE of its only output to a scalar."""
    net = NetworkBuilder("scalar", seed=4)
    x = net.fully_connected(net.input((1, 6)), 1)
    shape = net.constant(np.zeros(0, np.int32))
    return with_own_buffers(net.build(net.apply("RESHAPE", x, shape)), [shape])


def with_a_placement() -> bytes:
    net = NetworkBuilder("placed", seed=6)
    y = net.fully_connected(net.relu(net.fully_connected(net.input((1, 6)), 8)), 3)
    places = [
        1,
        0,
        len(net.tensors),
        *(-1 if t.data else 16 * i for i, t in enumerate(net.tensors)),
    ]
    net.metadata[PLACEMENT] = np.array([1, 0, len(places), *places], np.int32).tobytes()
    return net.build(y)


Build = Callable[[], bytes]
ODD = (with_int4_weights, with_stale_signatures, with_an_empty_constant, with_a_placement)


@pytest.mark.slow
@pytest.mark.parametrize("build", ODD, ids=lambda build: build.__name__)
def test_the_npu_computes_what_tflite_micro_does(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "odd.tflite"
    path.write_bytes(build())
    report = flow.simulate(path, npu="ethos-u55-128", inputs=Inputs(None, 2, 1), watch=Watch())
    assert report.passed
    left = [operator["operator"] for operator in report.as_json()["cpu_operators"]]
    assert left in ([], ["RESHAPE"])


@pytest.mark.parametrize("build", ODD, ids=lambda build: build.__name__)
def test_vela_gets_the_same_values_in_other_words(build: Build) -> None:
    network = parse_network(build(), "odd")
    again = parse_network(file_of(reworded(network)), "odd")
    assert not reworded(network).is_as_given
    assert list(map(plain, network.graph.tensors)) == list(map(plain, again.graph.tensors))
    assert again.graph.operators == network.graph.operators


def plain(tensor: Tensor) -> Tensor:
    """Return a tensor whose values are not packed; equal scales of all channels are one."""
    quantization = tensor.quantization
    if quantization is not None and len(set(quantization.scale)) == 1:
        quantization = Quantization(quantization.scale[:1], quantization.zero_point[:1])
    return dataclasses.replace(tensor, is_packed=False, quantization=quantization)


def test_weights_of_4_bits_take_8() -> None:
    network = parse_network(with_int4_weights(), "narrow")
    weights = network.graph.tensors[1]
    assert weights.is_packed and weights.array().dtype == np.int8
    assert (weights.array().min(), weights.array().max()) == (-8, 7)


def test_a_network_that_vela_reads_rightly_keeps_its_file() -> None:
    net = NetworkBuilder("plain")
    plain = decode_network(net.build(net.relu(net.input((1, 6)))), "plain")
    assert reworded(plain) is plain


def test_a_single_channel_may_stay_on_the_cpu() -> None:
    """Vela returns it with the two scales that it got."""
    net = NetworkBuilder("single", seed=5)
    network = parse_network(
        net.build(net.fully_connected(net.relu(net.input((1, 6))), 1)), "single"
    )
    options = dataclasses.replace(EXACT, check=False, cpu_ops=("FULLY_CONNECTED",))
    plan = make_plan(network, PlanSettings(find_accelerator("ethos-u55-128"), options), Watch())
    (left,) = [op for op in plan.residual.operators if op.code == "FULLY_CONNECTED"]
    quantization = plan.residual.tensors[left.inputs[1]].quantization
    assert quantization is not None and quantization.is_per_tensor


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_scales_of_a_product_are_multiplied_in_double(npu: str, channels: int) -> None:
    """In single precision, the bias alone becomes -118, as in MLPerf Tiny's autoencoder.

    The first of two roundings is that of 512 times the result; -60160 then rounds to -118.
    """
    scales = (0.024790890514850616, 0.0195566825568676, 0.36449846625328064)
    x_scale, weighted, y_scale = map(np.float32, scales)
    bias, halfway = -88337, -60159.5 / 512
    in_single, in_double = (
        bias * float(product) / float(y_scale)
        for product in (x_scale * weighted, float(x_scale) * float(weighted))
    )
    assert in_single < halfway < in_double
    net = NetworkBuilder("halfway", seed=1)
    x = net.input((1, 8), scale=scales[0], zero_point=-128)
    w = net.constant(net.random_integers((channels, 8)), "int8", scales[1])
    b = net.constant(np.full(channels, bias), "int32", scales[0] * scales[1])
    y = net.apply("FULLY_CONNECTED", x, w, b, scale=scales[2], zero_point=96)
    network = parse_network(net.build(y), "n")
    sample = {network.inputs[0].name: np.full((1, 8), -128, np.int8)}
    (golden,) = DEFAULT.run(network, [sample])
    plan = make_plan(network, PlanSettings(find_accelerator(npu)).unchecked(), Watch())
    assert len(plan.partitions) == 1 and len(plan.residual.operators) == 1
    outputs = make_evaluator(plan)(sample, PlanRunner(plan))
    name = network.outputs[0].name
    assert golden[name].tolist() == outputs[name].tolist() == [[-117 + 96] * channels]
