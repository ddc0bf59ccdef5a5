"""Each operator that ONNX Runtime quantizes: exact on NPU and CPU, and close to ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ethosgen import frontend
from ethosgen.values.errors import UnsupportedError
from tests.support.onnx_operators import ROWS
from tests.support.onnx_trials import KNOWN, Trial, row_network, row_trial, settings_of

pytestmark = pytest.mark.slow


def check(trial: Trial, setting: str) -> None:
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.elements == trial.fidelity.elements > 0
    most, _ = KNOWN.get((trial.name, setting), (1, ""))
    assert trial.fidelity.most_steps < most + 0.5, trial.fidelity.text()


@pytest.mark.parametrize(
    ("name", "setting"), [(name, setting) for name in ROWS for setting in settings_of(name)]
)
def test_an_operator_is_exact_and_within_a_step(name: str, setting: str, tmp_path: Path) -> None:
    check(row_trial(name, setting, tmp_path, seed=1), setting)


@pytest.mark.parametrize("name", ["Conv", "MatMul", "ConvTranspose"])
def test_asymmetric_weights_run_in_integers(name: str, tmp_path: Path) -> None:
    """uint8 weights have a zero point, which layers of uint8 may have as well."""
    network = frontend.read(row_network(ROWS[name], "uint8 weights", tmp_path))
    floats = {"CONV_2D", "FULLY_CONNECTED", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV"}
    layers = [op for op in network.graph.operators if op.code in floats]
    types = {network.graph.tensors[op.outputs[0]].dtype for op in layers}
    assert layers
    assert types <= {"uint8", "int8"}


def test_what_stays_float_has_a_reason(tmp_path: Path) -> None:
    network = frontend.read(row_network(ROWS["LayerNormalization"], "int8", tmp_path))
    reasons = {network.in_float.get(network.graph.tensors[op.outputs[0]].name) for op in
               network.graph.operators if op.code == "RSQRT"}  # fmt: skip
    assert reasons == {"no pattern of quantized operators has its layer_norm"}


def test_a_flattened_plane_permutes_weights_instead_of_elements(tmp_path: Path) -> None:
    from tests.support.onnx_networks import OnnxNetwork, quantized

    net = OnnxNetwork()
    x = net.add("Conv", [net.add_input("x", 1, 3, 4, 5), net.weights(6, 3, 1, 1), net.weights(6)])
    net.add("Gemm", [net.add("Flatten", [x]), net.weights(7, 120), net.weights(7)], "y", transB=1)
    network = frontend.read(quantized(net.model(["y"]), tmp_path / "flat.onnx"))
    codes = [op.code for op in network.graph.operators]
    assert codes == "QUANTIZE TRANSPOSE CONV_2D RESHAPE FULLY_CONNECTED DEQUANTIZE".split()


@pytest.mark.parametrize(
    ("indices", "axis", "codes"),
    [
        (2, 1, "STRIDED_SLICE RESHAPE"),
        ([-1], 1, "STRIDED_SLICE"),
        ([0, 2, 4], 1, "STRIDED_SLICE"),
        ([4, 2, 0], 1, "GATHER"),
        ([1, 1], 1, "GATHER"),
        ([[0, 1]], 1, "GATHER"),
    ],
)
def test_a_choice_at_one_distance_is_a_slice(
    indices: Any, axis: int, codes: str, tmp_path: Path
) -> None:
    from tests.support.onnx_networks import OnnxNetwork, quantized

    net = OnnxNetwork()
    x = net.add("Relu", [net.add_input("x", 2, 5, 4)])
    net.add("Gather", [x, net.constant(indices, np.int64)], "y", axis=axis)
    path = quantized(net.model(["y"]), tmp_path / "gather.onnx", operators=["Relu", "Gather"],
                     ForceQuantizeNoInputCheck=True)  # fmt: skip
    network = frontend.read(path)
    codes_read = [op.code for op in network.graph.operators]
    assert [code for code in codes_read if code not in ("RELU", "QUANTIZE", "DEQUANTIZE")] == (
        codes.split()
    )


def test_a_repetition_by_an_input_is_refused_with_its_name(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 4]),
        helper.make_tensor_value_info("n", TensorProto.INT64, [1]),
    ]
    node = helper.make_node("Tile", ["x", "n"], ["y"])
    graph = helper.make_graph(
        [node], "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b"])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "tile.onnx")
    with pytest.raises(UnsupportedError, match="'y' "):
        frontend.read(tmp_path / "tile.onnx")
