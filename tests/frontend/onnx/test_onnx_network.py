"""A network in QDQ form becomes one in integers, and its results are ONNX Runtime's."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from ethosgen import frontend
from ethosgen.oracle import TFLM
from tests.support.onnx_networks import OnnxNetwork, quantized, random_samples


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = OnnxNetwork()
    x = net.add_input("image", 1, 3, 16, 16)
    weights = net.weights(8, 3, 3, 3), net.weights(8)
    stem = net.add("Conv", [x, *weights], pads=[1, 1, 1, 1], strides=[2, 2])
    stem = net.add("Relu", [stem])
    deep = net.add("Conv", [stem, net.weights(8, 1, 3, 3)], pads=[1, 1, 1, 1], group=8)
    deep = net.add("Clip", [deep, net.constant(0.0), net.constant(6.0)])
    total = net.add("Add", [stem, deep])
    pooled = net.add("MaxPool", [total], kernel_shape=[2, 2], strides=[2, 2])
    wide = net.add("Conv", [pooled, net.weights(16, 8, 1, 1), net.weights(16)])
    flat = net.add("Flatten", [net.add("GlobalAveragePool", [wide])])
    net.add("Gemm", [flat, net.weights(10, 16), net.weights(10)], "scores", transB=1)
    model = net.model(["scores"])
    return quantized(model, tmp_path_factory.mktemp("onnx") / "small.onnx")


def plain_session(path: Path) -> onnxruntime.InferenceSession:
    """Return a session without fused kernels: without VNNI, those saturate sums of two products."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options)


def test_each_island_becomes_one_operator(small: Path) -> None:
    network = frontend.read(small)

    assert [op.code for op in network.graph.operators] == (
        "QUANTIZE TRANSPOSE PAD CONV_2D DEPTHWISE_CONV_2D ADD MAX_POOL_2D CONV_2D MEAN RESHAPE "
        "FULLY_CONNECTED DEQUANTIZE".split()
    )
    assert [(t.name, t.shape, t.dtype) for t in network.inputs] == [
        ("image", (1, 3, 16, 16), "float32")
    ]
    assert [(t.name, t.shape) for t in network.outputs] == [("scores", (1, 10))]


def test_results_are_within_a_step_of_onnx_runtimes(small: Path) -> None:
    network = frontend.read(small)
    samples = random_samples(onnx.load(small), 10, seed=2)
    session = plain_session(small)

    ours = [run["scores"] for run in TFLM.run(network, samples)]

    theirs = [session.run(None, sample)[0] for sample in samples]
    last = network.graph.operators[-1]
    step = network.graph.tensors[last.inputs[0]].quantization
    assert step is not None
    steps = np.abs(np.array(ours) - np.array(theirs)) / step.scale[0]
    assert np.max(steps) < 1.5
    assert np.mean(steps < 0.5) > 0.8


def test_what_a_float_island_left_behind_may_be_shared(tmp_path: Path) -> None:
    """Weights with a zero point end the first layer's translation behind its input's transpose."""
    net = OnnxNetwork()
    x = net.add_input("image", 1, 3, 6, 6)
    odd = net.add("Conv", [x, net.weights(4, 3, 1, 1)], "odd")
    even = net.add("Conv", [x, net.weights(4, 3, 1, 1)], "even")
    shape = (1, 4, 6, 6)
    path = quantized(net.model({odd: shape, even: shape}), tmp_path / "net.onnx", per_channel=False)
    model = onnx.load(path)
    zero = next(n.input[2] for n in model.graph.node if n.input[0] == "constant_0_quantized")
    for constant in model.graph.initializer:
        if constant.name == zero:
            constant.CopyFrom(onnx.numpy_helper.from_array(np.array(3, np.int8), zero))
    onnx.save(model, path)

    network = frontend.read(path)

    produced = {index for op in network.graph.operators for index in op.outputs}
    known = {*network.graph.inputs, *(t.index for t in network.graph.tensors if t.data is not None)}
    assert {i for op in network.graph.operators for i in op.inputs} <= produced | known
    (sample,) = random_samples(model, 1, seed=3)
    session = plain_session(path)
    ours, theirs = TFLM.run(network, [sample])[0], session.run(["odd", "even"], sample)
    assert np.allclose(ours["odd"], theirs[0], atol=0.1)
    assert np.allclose(ours["even"], theirs[1], atol=0.1)
