"""MobileNetV2 of ONNX Runtime's quantizer: on the NPU in TVM, exported, and as firmware."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import tvm
from tvm.relax.frontend.onnx import from_onnx

from ethosgen import build_project, frontend, run_project
from ethosgen.oracle import TFLM
from ethosgen.relax import (
    partition_for_ethosu,
    save_tflite,
    simulate_ethosu,
    support_report,
    to_project,
)
from tests.support.needs import needs_gcc, needs_qemu
from tests.support.onnx_files import mobilenet_v2
from tests.support.onnx_networks import OnnxNetwork, quantized, random_samples
from tests.support.relax_networks import LOADING, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> onnx.ModelProto:
    net = OnnxNetwork()
    folder = tmp_path_factory.mktemp("onnx")
    return onnx.load(quantized(net.model(mobilenet_v2(net)), folder / "mobilenet.onnx"))


@pytest.fixture(scope="module")
def module(model: onnx.ModelProto) -> tvm.IRModule:
    return from_onnx(model, keep_params_in_input=False)


@pytest.fixture(scope="module")
def partitioned(module: tvm.IRModule) -> tvm.IRModule:
    return partition_for_ethosu(module, "ethos-u55-128")


@needs_gcc
def test_the_npu_runs_all_of_it_as_the_oracle_does(
    model: onnx.ModelProto, module: tvm.IRModule, partitioned: tvm.IRModule, tmp_path: Path
) -> None:
    report = support_report(partitioned)
    assert len(report) == 66 and {line.partition for line in report} == {"ethosu_0"}
    samples = [[sample["image"]] for sample in random_samples(model, 3, seed=2)]
    simulated = simulate_ethosu(partitioned)
    ours = [outputs[0] for outputs in run(simulated, samples)]
    path = tmp_path / "mobilenet.tflite"
    assert not save_tflite(module, path)
    network = frontend.read(path)
    golden = TFLM.run(network, [{network.inputs[0].name: sample[0]} for sample in samples])
    for our, theirs in zip(ours, golden, strict=True):
        np.testing.assert_array_equal(our, theirs["output_0"])
    library, values, outputs = (tmp_path / name for name in ("m.so", "in.npy", "out.npy"))
    tvm.compile(simulated, target="llvm").export_library(str(library))
    np.save(values, samples[1][0])
    command = [sys.executable, "-c", LOADING, *map(str, (library, values, outputs))]
    subprocess.run(command, check=True)
    np.testing.assert_array_equal(np.load(outputs), ours[1])


@needs_qemu
def test_its_firmware_passes_on_qemu(partitioned: tvm.IRModule, tmp_path: Path) -> None:
    folder = tmp_path / "firmware"
    to_project(partitioned, directory=folder, board="corstone300", name="mobilenet")
    build_project(folder)
    assert run_project(folder).passed
