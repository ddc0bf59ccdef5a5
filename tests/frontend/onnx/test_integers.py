"""Operators on integers: QuantFormat.QOperator, dynamic quantization, and forms by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from ethosgen import frontend
from ethosgen.values.errors import UnsupportedError
from tests.support.onnx_networks import OnnxNetwork, quantized, random_samples
from tests.support.onnx_operators import ROWS
from tests.support.onnx_trials import grid_samples, row_network, trial_of


def network(outputs_of_gemm: int = 6) -> Any:
    """Return a float network with all operators that ONNX Runtime has in its QLinear form."""
    net = OnnxNetwork()
    x = net.add_input("x", 1, 3, 16, 16)
    x = net.add("Conv", [x, net.weights(8, 3, 3, 3), net.weights(8)], pads=[1] * 4)
    pooled = net.add("MaxPool", [net.add("LeakyRelu", [x], alpha=0.1)], kernel_shape=[2, 2],
                     strides=[2, 2])  # fmt: skip
    x = net.add("Conv", [pooled, net.weights(8, 1, 3, 3), net.weights(8)], pads=[1] * 4, group=8)
    gate = net.add("Sigmoid", [x])
    x = net.add("Mul", [net.add("Add", [gate, pooled]), gate])
    x = net.add("Concat", [x, pooled], axis=1)
    x = net.add("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = net.add("Flatten", [net.add("GlobalAveragePool", [x])])
    x = net.add("Gemm", [x, net.weights(5, 16), net.weights(5)], transB=1)
    x = net.add("MatMul", [x, net.weights(5, outputs_of_gemm)])
    return net.model([net.add("Softmax", [x], "y")])


def operators_of(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


@pytest.mark.parametrize(
    "setting",
    [
        {"activations": "int8"},
        {"activations": "uint8", "weights": "uint8", "per_channel": False},
        {"activations": "uint8", "weights": "int8", "per_channel": False},
    ],
    ids=["int8", "uint8", "uint8 activations"],
)
def test_the_form_with_operators_is_exact_and_close_to_onnx_runtime(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    path = quantized(network(), tmp_path / "net.onnx", is_qdq=False, **setting)
    missing = {"QLinearConv", "QLinearLeakyRelu", "QLinearSigmoid", "QLinearAdd", "QLinearMul",
               "QLinearConcat", "QLinearAveragePool", "QLinearMatMul", "QGemm",
               "QLinearSoftmax"} - operators_of(path)  # fmt: skip
    assert not missing
    trial = trial_of(path, "QOperator", grid_samples(path, 5, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    # a step in each of fourteen layers; alone, no operator differs by more than one
    assert trial.fidelity.most_steps < 2.5, trial.fidelity.text()
    codes = {op.code for op in frontend.read(path).graph.operators}
    assert {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "LOGISTIC", "SOFTMAX"} <= codes


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["int8", "uint8 weights"])
@pytest.mark.parametrize(
    "name", ["Conv", "Gemm", "MatMul", "Add", "Mul", "Sigmoid", "LeakyRelu", "Concat", "Softmax"]
)
def test_an_operator_on_integers_is_exact_and_within_a_step(
    name: str, setting: str, tmp_path: Path
) -> None:
    if (name, setting) == ("MatMul", "int8"):
        setting = "uint8"  # ONNX Runtime refuses its own QLinearMatMul with scales for channels
    path = row_network(ROWS[name], setting, tmp_path, is_qdq=False)
    assert {f"QLinear{name}", f"Q{name}"} & operators_of(path)
    trial = trial_of(path, name, grid_samples(path, 3, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.most_steps < 1.5, trial.fidelity.text()


@pytest.mark.parametrize("name", ["QLinearGlobalAveragePool", "QLinearWhere"])
def test_operators_that_the_quantizer_does_not_write(name: str, tmp_path: Path) -> None:
    scale, zero = ["s", "z"], ["t", "z"]
    operands = {
        "QLinearGlobalAveragePool": ["q", *scale, *zero],
        "QLinearWhere": ["c", "q", *scale, "k", *scale, *zero],
    }[name]
    more = {"channels_last": 0} if name == "QLinearGlobalAveragePool" else {}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", *scale], ["q"]),
        helper.make_node(name, operands, ["r"], domain="com.microsoft", **more),
        helper.make_node("DequantizeLinear", ["r", *zero], ["y"]),
    ]
    random = np.random.default_rng(0)
    shape = [1, 4, 5, 5]
    constants = {"s": np.float32(0.03), "t": np.float32(0.03), "z": np.int8(3),
                 "c": random.random(shape) < 0.5,
                 "k": random.integers(-128, 128, shape).astype(np.int8)}  # fmt: skip
    path = tmp_path / "net.onnx"
    output_shape = [1, 4, 1, 1] if more else shape
    onnx.save(by_hand(nodes, constants, {"y": (TensorProto.FLOAT, output_shape)}, shape), path)
    trial = trial_of(path, name, grid_samples(path, 5, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.most_steps < 1.5, trial.fidelity.text()


@pytest.mark.parametrize("weights", [QuantType.QInt8, QuantType.QUInt8])
def test_dynamic_quantization_computes_what_onnx_runtime_does(weights: Any, tmp_path: Path) -> None:
    before, path = tmp_path / "float.onnx", tmp_path / "dynamic.onnx"
    onnx.save(network(), before)
    quantize_dynamic(before, path, weight_type=weights, per_channel=weights == QuantType.QInt8)
    assert {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger"} <= operators_of(path)
    samples = [*random_samples(onnx.load(before), 3, 1), {"x": np.zeros((1, 3, 16, 16), "f")}]
    trial = trial_of(path, "dynamic", samples)
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.equal == trial.fidelity.elements, trial.fidelity.text()


def by_hand(
    nodes: list[Any],
    constants: dict[str, Any],
    outputs: dict[str, tuple[int, list[int]]],
    shape: Sequence[int] = (3, 16),
) -> Any:
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    ends = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    results = [
        helper.make_tensor_value_info(name, *kind_and_shape)
        for name, kind_and_shape in outputs.items()
    ]
    graph = helper.make_graph(nodes, "g", ends, results, held)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_integers_may_be_outputs(tmp_path: Path) -> None:
    """The product is int32, the quantized input and its zero point are uint8."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["y"]),
    ]
    constants = {"w": random.integers(-128, 128, (16, 5)).astype(np.int8), "wz": np.int8(7)}
    kinds = {"y": (TensorProto.INT32, [3, 5]), "q": (TensorProto.UINT8, [3, 16]),
             "z": (TensorProto.UINT8, [])}  # fmt: skip
    path = tmp_path / "net.onnx"
    onnx.save(by_hand(nodes, constants, kinds), path)
    trial = trial_of(path, "integers", random_samples(onnx.load(path), 5, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.equal == trial.fidelity.elements == 5 * (15 + 48 + 1)


def test_large_weights_do_not_saturate_in_onnx_runtime(tmp_path: Path) -> None:
    """Without VNNI it adds two products of uint8 and int8 in 16 bits; fidelity avoids that."""
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["q", "w", "z"], ["y"]),
    ]
    path = tmp_path / "net.onnx"
    constants = {"w": np.full((16, 5), 127, np.int8)}
    onnx.save(by_hand(nodes, constants, {"y": (TensorProto.INT32, [3, 5])}), path)
    trial = trial_of(path, "integers", [{"x": np.full((3, 16), 7, np.float32)}])
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.equal == trial.fidelity.elements, trial.fidelity.text()


def test_scales_that_are_computed_are_refused_in_a_sentence(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        helper.make_node(
            "QLinearMatMul", ["q", "s", "z", "w", "ws", "wz", "ys", "wz"], ["y"], name="product"
        ),
    ]
    constants = {"w": np.ones((16, 5), np.uint8), "ws": np.float32(1), "wz": np.uint8(0),
                 "ys": np.float32(1)}  # fmt: skip
    path = tmp_path / "net.onnx"
    onnx.save(by_hand(nodes, constants, {"y": (TensorProto.UINT8, [3, 5])}), path)
    with pytest.raises(
        UnsupportedError, match=r"'y' \(QLinearMatMul\): its input 's' is not const"
    ):
        frontend.read(path)
