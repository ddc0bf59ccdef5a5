"""Ways to quantize a network: integers at its ends, other scales, a quantize that is missing."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ethosgen import frontend
from ethosgen.values.errors import UnsupportedError
from tests.support.onnx_networks import OnnxNetwork, quantized
from tests.support.onnx_trials import grid_samples, trial_of

Array = np.ndarray[Any, Any]


class Graph:
    """A QDQ graph written by hand."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.random = np.random.default_rng(0)

    def constant(self, array: Array) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        output = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def coded(self, op: str, x: str, scale: float, zero: int, dtype: str) -> str:
        """Add a QuantizeLinear or DequantizeLinear."""
        scales = self.constant(np.float32(scale)), self.constant(np.array(zero, dtype))
        return self.add(op, x, *scales)

    def conv(self, x: str) -> str:
        held = self.constant(self.random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8))
        return self.add("Conv", x, self.coded("DequantizeLinear", held, 0.005, 0, "int8"))

    def save(self, folder: Path, dtypes: tuple[int, int], output: str) -> Path:
        inputs = [helper.make_tensor_value_info("x", dtypes[0], [1, 3, 6, 6])]
        shape = [f"d{axis}" for axis in range(4)]
        outputs = [helper.make_tensor_value_info(output, dtypes[1], shape)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", 21)]
        path = folder / "net.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
        return path


def integers(dtype: str) -> list[dict[str, Array]]:
    info = np.iinfo(dtype)
    random = np.random.default_rng(1)
    return [
        {"x": random.integers(info.min, info.max + 1, (1, 3, 6, 6)).astype(dtype)} for _ in range(3)
    ]


@pytest.mark.parametrize(
    ("dtype", "kind"), [("int8", TensorProto.INT8), ("uint8", TensorProto.UINT8)]
)
def test_integers_at_the_ends(dtype: str, kind: int, tmp_path: Path) -> None:
    g = Graph()
    zero = 3 if dtype == "int8" else 131
    x = g.coded("DequantizeLinear", "x", 0.02, zero, dtype)
    coded = g.coded("QuantizeLinear", g.conv(x), 0.03, zero - 8, dtype)
    path = g.save(tmp_path, (kind, kind), coded)
    network = frontend.read(path)
    assert [t.dtype for t in (*network.inputs, *network.outputs)] == [dtype, dtype]
    trial = trial_of(path, "ends", integers(dtype))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.elements == 3 * 4 * 16
    assert trial.fidelity.most_steps < 1.5


def test_two_scales_for_one_tensor(tmp_path: Path) -> None:
    g = Graph()
    parts = []
    for scale in (0.02, 0.01):
        coded = g.coded("QuantizeLinear", "x", scale, 0, "int8")
        parts.append(g.conv(g.coded("DequantizeLinear", coded, scale, 0, "int8")))
    wide = [g.coded("QuantizeLinear", part, 0.04, 5, "int8") for part in parts]
    both = g.add("Add", *[g.coded("DequantizeLinear", coded, 0.04, 5, "int8") for coded in wide])
    total = g.coded("QuantizeLinear", both, 0.06, 1, "int8")
    path = g.save(tmp_path, (TensorProto.FLOAT, TensorProto.INT8), total)
    trial = trial_of(path, "scales", grid_samples(path, 3, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.most_steps < 1.5


def test_integers_of_two_scales_are_refused_by_name(tmp_path: Path) -> None:
    g = Graph()
    coded = g.coded("QuantizeLinear", "x", 0.02, 0, "int8")
    absolute = g.add("Abs", g.coded("DequantizeLinear", coded, 0.03, 0, "int8"))
    path = g.save(tmp_path, (TensorProto.FLOAT, TensorProto.FLOAT), absolute)
    with pytest.raises(UnsupportedError, match=r"dequantizelinear.*0\.02.*0\.03"):
        frontend.read(path)


def test_a_missing_quantize_leaves_the_island_in_float_with_a_reason(tmp_path: Path) -> None:
    g = Graph()
    x = g.coded(
        "DequantizeLinear", g.coded("QuantizeLinear", "x", 0.02, 0, "int8"), 0.02, 0, "int8"
    )
    curve = g.add("Sigmoid", g.conv(x))
    coded = g.coded("QuantizeLinear", curve, 1 / 255, -128, "int8")
    scores = g.coded("DequantizeLinear", coded, 1 / 255, -128, "int8")
    path = g.save(tmp_path, (TensorProto.FLOAT, TensorProto.FLOAT), scores)
    trial = trial_of(path, "missing", grid_samples(path, 3, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.most_steps < 1.5
    assert any("CONV_2D: it computes floats: no pattern" in reason for reason in trial.on_cpu)


def test_asymmetric_int16_stays_float_with_a_reason(tmp_path: Path) -> None:
    net = OnnxNetwork()
    x = net.add_input("x", 1, 3, 6, 6)
    net.add("Relu", [net.add("Conv", [x, net.weights(4, 3, 3, 3), net.weights(4)])], "y")
    path = quantized(net.model(["y"]), tmp_path / "net.onnx", activations="int16")
    network = frontend.read(path)
    trial = trial_of(path, "int16", grid_samples(path, 3, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.most_steps < 1.5
    assert any("int16" in why for why in network.in_float.values())


@pytest.mark.parametrize(
    ("mode", "outs", "code"),
    [
        ("align_corners", (34, 40), "float32"),  # distances of 7/33 and 9/39
        ("half_pixel", (33, 39), "float32"),
        ("half_pixel", (34, 40), "int8"),  # 0.002 elements off
        ("align_corners", (15, 19), "int8"),  # distances of 1/2, as the NPU has
        ("half_pixel", (16, 20), "int8"),
    ],
)
def test_a_linear_resize_is_at_most_a_step_off(
    mode: str, outs: tuple[int, int], code: str, tmp_path: Path
) -> None:
    """TensorFlow Lite's distances in int8 are rounded to 1/1024 of an element."""
    net = OnnxNetwork()
    inputs = [net.add_input("x", 1, 3, 8, 10), "", "", net.constant([1, 3, *outs], np.int64)]
    net.add("Resize", inputs, "y", mode="linear", coordinate_transformation_mode=mode)
    path = quantized(net.model(["y"]), tmp_path / "net.onnx", operators=["Resize"],
                     ForceQuantizeNoInputCheck=True)  # fmt: skip
    graph = frontend.read(path).graph
    (resized,) = (o for o in graph.operators if o.code == "RESIZE_BILINEAR")
    assert graph.tensors[resized.inputs[0]].dtype == code
    trial = trial_of(path, mode, grid_samples(path, 4, 1))
    assert trial.fidelity.most_steps < 1.5, trial.fidelity.text()
