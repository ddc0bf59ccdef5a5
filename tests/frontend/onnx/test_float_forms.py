"""Operators in float and in plain integers, as sums of others."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

from ethosgen import frontend
from ethosgen.aot import compile_program
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.plan import Plan
from ethosgen.values.watch import Watch
from ethosgen.verdict.execution import simulate_samples
from tests.support.onnx_networks import OnnxNetwork
from tests.support.onnx_trials import check_floats
from tests.support.trials import plan_for


@pytest.mark.parametrize("pads", [[0, 0, -1, 0, 0, 0, -2, -1], [0, 0, -1, 2, 0, 0, 1, -1]])
def test_negative_padding_crops(pads: list[int], tmp_path: Path) -> None:
    net = OnnxNetwork()
    x = net.add_input("x", 1, 3, 6, 7)
    y = net.add("Pad", [x, net.constant(pads, np.int64), net.constant(0.5)])
    check_floats(net, net.add("Relu", [y], "y"), tmp_path)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 2.0])
def test_celu_is_made_of_elementwise_operators(alpha: float, tmp_path: Path) -> None:
    net = OnnxNetwork()
    check_floats(net, net.add("Celu", [net.add_input("x", 2, 9)], "y", alpha=alpha), tmp_path)


@pytest.mark.parametrize(
    "tables",
    [
        ([-1, 5, -1], [-9, 0, -9], [1, 2, 3], [-1, -2, -1]),
        ([-1, 3], [-9, -9], [1, 3], [-1, -1]),
    ],
)
def test_a_slice_goes_back_along_several_axes(tables: list[list[int]], tmp_path: Path) -> None:
    """TensorFlow Lite Micro reverses only neighbouring axes at once."""
    net = OnnxNetwork()
    bounds = [net.constant(table, np.int64) for table in tables]
    check_floats(net, net.add("Slice", [net.add_input("x", 2, 3, 6, 7), *bounds], "y"), tmp_path)


@pytest.mark.parametrize("shapes", [[(3,), (3,)], [(4,), (2, 4, 1)], [(2, 3, 4), (4,)]])
@pytest.mark.parametrize("is_constant", [False, True])
def test_a_vector_is_a_factor(
    shapes: list[tuple[int, ...]], is_constant: bool, tmp_path: Path
) -> None:
    net = OnnxNetwork()
    first, second = shapes
    x = net.add_input("x", *first)
    y = net.weights(*second) if is_constant else net.add_input("w", *second)
    check_floats(net, net.add("MatMul", [x, y], "y"), tmp_path)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks_become_channels_in_both_orders(mode: str, tmp_path: Path) -> None:
    """ONNX Runtime does not have the mode yet."""
    net = OnnxNetwork()
    net.add("SpaceToDepth", [net.add_input("x", 2, 3, 4, 6)], "y", blocksize=2, mode=mode)
    model = net.model(["y"], opset=28)
    onnx.save(model, tmp_path / "net.onnx")
    sample = {"x": np.arange(144, dtype=np.float32).reshape(2, 3, 4, 6)}
    plan = plan_for(frontend.read(tmp_path / "net.onnx"), None)
    (outputs,) = simulate_samples(plan, [sample], Watch())
    (wanted,) = ReferenceEvaluator(model).run(None, sample)
    assert np.array_equal(outputs["y"], wanted)


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", [(6, 8), (7, 9), (8, 9)])
def test_an_output_shape_decides_the_padding(
    auto_pad: str, size: tuple[int, int], tmp_path: Path
) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input("x", 1, 2, 4, 5), net.weights(2, 3, 3, 3)]
    options = {"strides": [2, 2], "output_shape": size, "auto_pad": auto_pad}
    check_floats(net, net.add("ConvTranspose", inputs, "y", **options), tmp_path)


def _check_integers(net: OnnxNetwork, inputs: dict[str, np.ndarray[Any, Any]], path: Path) -> Plan:
    """Fail unless a network has the outputs of ONNX's reference; return its plan."""
    model = net.model(["y"])
    onnx.save(model, path)
    plan = plan_for(frontend.read(path), None)
    (outputs,) = simulate_samples(plan, [inputs], Watch())
    (wanted,) = ReferenceEvaluator(model).run(None, inputs)
    assert np.array_equal(outputs["y"], wanted)
    return plan


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_computed_indices_choose_rows_of_a_table(kind: str, axis: int, tmp_path: Path) -> None:
    """An embedding: a negative index counts from the end."""
    net = OnnxNetwork()
    net.add_input("i", 2, 3, kind=getattr(TensorProto, kind.upper()))
    net.add("Gather", [net.weights(5, 5), "i"], "y", axis=axis)
    indices = np.array([[0, 4, -1], [-5, 2, 2]], kind)
    plan = _check_integers(net, {"i": indices}, tmp_path / "net.onnx")
    assert plan.network.graph.operators[-1].code == "GATHER"


def test_computed_indices_choose_rows_of_a_computed_table(tmp_path: Path) -> None:
    net = OnnxNetwork()
    x = net.add("Relu", [net.add_input("x", 4, 3)])
    net.add_input("i", 2, kind=TensorProto.INT64)
    net.add("Gather", [x, "i"], "y")
    table = np.arange(-6, 6, dtype=np.float32).reshape(4, 3)
    _check_integers(net, {"x": table, "i": np.array([3, -2])}, tmp_path / "net.onnx")


def test_an_embedding_in_int8_stays_in_int8(tmp_path: Path) -> None:
    net = OnnxNetwork()
    held = net.constant(np.arange(-10, 10).reshape(5, 4), np.int8)
    scale, zero = net.constant(0.5), net.constant(3, np.int8)
    table = net.add("DequantizeLinear", [held, scale, zero])
    net.add_input("i", 3, kind=TensorProto.INT64)
    net.add("Gather", [table, "i"], "y")
    plan = _check_integers(net, {"i": np.array([4, -4, 0])}, tmp_path / "net.onnx")
    graph = plan.network.graph
    (gather,) = (op for op in graph.operators if op.code == "GATHER")
    assert graph.tensors[gather.inputs[0]].dtype == "int8"


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("bounds", [(-3, 5), (None, 5), (-3, None)])
def test_plain_integers_are_clipped(
    kind: str, bounds: tuple[int | None, int | None], tmp_path: Path
) -> None:
    net = OnnxNetwork()
    net.add_input("x", 9, kind=getattr(TensorProto, kind.upper()))
    limits = ["" if bound is None else net.constant(bound, kind) for bound in bounds]
    net.add("Clip", ["x", *limits], "y")
    plan = _check_integers(net, {"x": np.arange(-8, 10, 2).astype(kind)}, tmp_path / "net.onnx")
    assert len(plan.network.graph.operators) == 2 - bounds.count(None)


@pytest.mark.parametrize("code", ["Add", "Mul"])
def test_a_sum_of_plain_integers_is_refused_by_its_cause(code: str, tmp_path: Path) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input(name, 4, kind=TensorProto.INT8) for name in "ab"]
    net.add(code, inputs, "y")
    onnx.save(net.model(["y"]), tmp_path / "net.onnx")
    with pytest.raises(UnsupportedError, match=r"'a' is int8 without a scale.*quantize"):
        compile_program(plan_for(frontend.read(tmp_path / "net.onnx"), None), "sum")


@pytest.mark.parametrize("strides", [(1, 1), (2, 3)])
def test_a_dilated_maximum_is_one_of_rows_and_of_columns(
    strides: tuple[int, int], tmp_path: Path
) -> None:
    net = OnnxNetwork()
    options = {"kernel_shape": [3, 4], "dilations": [3, 2], "pads": [1, 2, 0, 1]}
    net.add("MaxPool", [net.add_input("x", 1, 2, 12, 13)], "y", strides=strides, **options)
    check_floats(net, "y", tmp_path)
    operators = frontend.read(tmp_path / "net.onnx").graph.operators
    codes = [op.code for op in operators]
    assert codes.count("STRIDED_SLICE") == 3 + 4
    assert codes.count("MAXIMUM") == 2 + 3
