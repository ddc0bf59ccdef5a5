"""A network of ONNX Runtime's quantizer, as TVM's own importer reads it."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from tvm.relax.frontend.onnx import from_onnx

from ethosgen.relax import partition_for_ethosu, simulate_ethosu, support_report
from tests.support.onnx_networks import OnnxNetwork, quantized, random_samples
from tests.support.relax_networks import run


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = OnnxNetwork()
    x = net.add_input("image", 1, 3, 16, 16)
    stem = net.add("Conv", [x, net.weights(8, 3, 3, 3), net.weights(8)], pads=[1, 1, 1, 1])
    stem = net.add("Relu", [stem])
    deep = net.add("Conv", [stem, net.weights(8, 1, 3, 3)], pads=[1, 1, 1, 1], group=8)
    deep = net.add("Clip", [deep, net.constant(0.0), net.constant(6.0)])
    pooled = net.add("MaxPool", [net.add("Add", [stem, deep])], kernel_shape=[2, 2], strides=[2, 2])
    flat = net.add("Flatten", [net.add("GlobalAveragePool", [pooled])])
    net.add("Gemm", [flat, net.weights(10, 8), net.weights(10)], "scores", transB=1)
    model = net.model(["scores"])
    return quantized(model, tmp_path_factory.mktemp("onnx") / "small.onnx")


def test_it_is_one_partition_within_a_step_of_onnx_runtime(path: Path) -> None:
    model = onnx.load(path)
    module = from_onnx(model, keep_params_in_input=False)
    partitioned = partition_for_ethosu(module, "ethos-u55-256")
    assert [(line.composite, line.partition) for line in support_report(partitioned)] == [
        (f"ethosu.{name}", "ethosu_0")
        for name in "conv2d conv2d add max_pool2d mean reshape matmul".split()
    ]
    samples = random_samples(model, 10, seed=2)
    session = onnxruntime.InferenceSession(path)
    ours = run(simulate_ethosu(partitioned), [[sample["image"]] for sample in samples])
    differences = np.array(
        [a[0] - session.run(None, sample)[0] for a, sample in zip(ours, samples, strict=True)]
    )
    (step,) = {
        difference for difference in np.unique(np.abs(differences).round(5)) if difference
    } or {1.0}
    assert np.max(np.abs(differences)) < 1.5 * step
    assert np.mean(differences == 0) > 0.8
