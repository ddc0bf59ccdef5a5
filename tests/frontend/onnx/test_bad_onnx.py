"""Damaged and unsupported .onnx files: one sentence each, and nothing on stdout or stderr."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ethosgen import frontend
from ethosgen.frontend.onnx import importer
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.source import Source
from tests.support.onnx_networks import OnnxNetwork, quantized

PARTS = 8
DAMAGES = 200


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a good file with most kinds of nodes."""
    net = OnnxNetwork()
    x = net.add_input("image", 1, 3, 8, 8)
    x = net.add("Conv", [x, net.weights(4, 3, 3, 3), net.weights(4)], pads=[1, 1, 1, 1])
    x = net.add(
        "Concat", [net.add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])] * 2, axis=1
    )
    x = net.add("Resize", [x, "", net.constant([1, 1, 2, 2])], mode="linear")
    x = net.add("Flatten", [net.add("Add", [x, net.add("Sigmoid", [x])])])
    net.add("Softmax", [net.add("MatMul", [x, net.weights(512, 5)])], "shares")
    path = quantized(net.model(["shares"]), tmp_path_factory.mktemp("bad") / "good.onnx")
    return path.read_bytes()


def damaged(data: bytes, seed: int) -> bytes:
    """Return a file cut short, or with some bytes changed, removed or repeated."""
    random = np.random.default_rng(seed)
    if seed % 4 == 0:
        return data[: random.integers(0, len(data))]
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(0, len(changed) - 16))
        if seed % 4 == 1:
            changed[place] = int(random.integers(0, 256))
        elif seed % 4 == 2:
            del changed[place : place + int(random.integers(1, 16))]
        else:
            changed[place:place] = changed[place : place + int(random.integers(1, 16))]
    return bytes(changed)


@pytest.mark.parametrize("part", range(PARTS))
def test_damage_is_one_sentence(data: bytes, part: int, capfd: pytest.CaptureFixture[str]) -> None:
    refused = 0
    for seed in range(part * DAMAGES // PARTS, (part + 1) * DAMAGES // PARTS):
        try:
            frontend.read_source(Source("onnx", "bad.onnx", damaged(data, seed)))
        except InputError as error:
            refused += 1
            assert "\n" not in str(error), seed
            assert len(str(error)) < 600, seed
    assert refused > 0
    assert capfd.readouterr() == ("", "")


def save(folder: Path, nodes: list[Any], shape: list[Any], **settings: Any) -> Path:
    """Write a network of one float input x and one output y."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        settings.pop("constants", []),
    )
    graph.output[0].type.tensor_type.shape.SetInParent()
    opsets = settings.pop("opsets", [helper.make_opsetid("", 21)])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    path = folder / "net.onnx"
    onnx.save(model, path, **settings)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        frontend.read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_custom_operator_is_named_with_its_domain(tmp_path: Path) -> None:
    node = helper.make_node("Magic", ["x"], ["y"], domain="com.example")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.example", 1)]
    said = refusal(save(tmp_path, [node], [1, 4], opsets=opsets))
    assert "'y'" in said
    assert "Magic" in said
    assert "com.example" in said


def test_a_newer_opset_is_named(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    said = refusal(save(tmp_path, [node], [1, 4], opsets=[helper.make_opsetid("", 99)]))
    assert "99" in said
    assert "opset" in said.lower()


def test_an_open_shape_is_named_with_the_option(tmp_path: Path) -> None:
    node = helper.make_node("Relu", ["x"], ["y"])
    said = refusal(save(tmp_path, [node], ["batch", 4]))
    assert "batch" in said
    assert "--shape x=1,4" in said


def test_missing_external_data_is_named(tmp_path: Path) -> None:
    held = numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    external = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 0}
    path = save(tmp_path, [node], [1, 64], constants=[held], **external)
    (tmp_path / "w.bin").unlink()
    said = refusal(path)
    assert "w.bin" in said
    assert "external" in said


def test_a_branch_is_refused(tmp_path: Path) -> None:
    inner = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["z"])],
        "branch",
        [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4])],
    )
    condition = numpy_helper.from_array(np.array(True), "c")
    node = helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    with pytest.raises(UnsupportedError, match="If"):
        frontend.read(save(tmp_path, [node], [1, 4], constants=[condition]))


@pytest.mark.parametrize("kind", ["input", "output"])
def test_what_has_no_shape_is_named(tmp_path: Path, kind: str) -> None:
    path = save(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [1, 4])
    model = onnx.load(path)
    (tensor,) = getattr(model.graph, kind)
    tensor.type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    assert f"'net.onnx': {kind} '{tensor.name}' has no shape" in refusal(path)


def test_a_computed_scale_is_refused(tmp_path: Path) -> None:
    zero = numpy_helper.from_array(np.int8(0), "zero")
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["scale"], keepdims=0),
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    assert "scale or zero point is not constant" in refusal(
        save(tmp_path, nodes, [1, 4], constants=[zero])
    )


def test_a_computed_length_is_refused(tmp_path: Path) -> None:
    limits = [numpy_helper.from_array(np.float32(n), name) for n, name in ((0, "a"), (1, "d"))]
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
        helper.make_node("Range", ["a", "top", "d"], ["y"]),
    ]
    said = refusal(save(tmp_path, nodes, [1, 4], constants=limits))
    assert "known only at run time" in said


def test_a_batch_normalization_in_training_is_refused(tmp_path: Path) -> None:
    """Its statistics are those of the batch, not the constants."""
    ones = [numpy_helper.from_array(np.ones(3, np.float32), name) for name in "abcd"]
    node = helper.make_node("BatchNormalization", ["x", *"abcd"], ["y", "m", "v"], training_mode=1)
    said = refusal(save(tmp_path, [node], [1, 3, 4, 4], constants=ones))
    assert "training mode" in said


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Shape", ["x"], ["y"]),
        helper.make_node("SplitToSequence", ["x"], ["y"], axis=1),
    ],
)
def test_an_output_that_is_no_tensor_is_refused(node: Any) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [2])
    if node.op_type == "SplitToSequence":
        part = helper.make_tensor_type_proto(TensorProto.FLOAT, [1, 1])
        y = helper.make_value_info("y", helper.make_sequence_type_proto(part))
    graph = helper.make_graph([node], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    with pytest.raises(UnsupportedError, match="a sequence or a shape"):
        frontend.read_source(Source("onnx", "net.onnx", model.SerializeToString()))


def test_a_size_of_zero_is_named(tmp_path: Path) -> None:
    said = refusal(save(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [1, 0]))
    assert "'x' has an axis of size 0" in said


def test_a_cubic_scale_without_whole_size_is_refused(tmp_path: Path) -> None:
    """ONNX divides by the size before it is rounded, ONNX Runtime by the one after it."""
    scales = numpy_helper.from_array(np.array([1, 1, 0.8, 0.8], np.float32), "s")
    options = {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], **options)
    said = refusal(save(tmp_path, [node], [1, 1, 4, 4], constants=[scales]))
    assert "do not lead to whole sizes" in said


def test_onnxs_attention_is_not_taken_for_microsofts(tmp_path: Path) -> None:
    """They have the same name, but other inputs and attributes."""
    node = helper.make_node("Attention", ["x", "x", "x"], ["y"])
    opsets = [helper.make_opsetid("", 23)]
    said = refusal(save(tmp_path, [node], [1, 2, 4, 8], opsets=opsets))
    assert "does not know the operator Attention of the domain ai.onnx" in said


def test_what_the_importer_trips_over_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(importer._OURS, "Relu", lambda _node: {}["inplace"])
    said = refusal(save(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], [1, 4]))
    assert said.endswith("'y' (Relu): TVM's importer does not know this form of it")


def test_the_shape_of_a_constant_is_refused_by_a_sentence(tmp_path: Path) -> None:
    held = numpy_helper.from_array(np.ones((2, 4), np.float32), "held")
    nodes = [
        helper.make_node("Shape", ["held"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    try:
        network = frontend.read(save(tmp_path, nodes, [8], constants=[held]))
    except UnsupportedError as error:
        assert "shape" in str(error)
    else:
        assert network.outputs[0].shape == (2, 4)
