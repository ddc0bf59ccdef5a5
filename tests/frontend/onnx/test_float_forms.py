"""Operators in float, as sums of others."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from ethosgen import frontend
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
