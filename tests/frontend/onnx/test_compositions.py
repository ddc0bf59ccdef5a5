"""Operators of ONNX that become several: equal to ONNX Runtime's, and to the oracle on the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ethosgen import frontend
from ethosgen.values.errors import UnsupportedError
from tests.support.onnx_networks import OnnxNetwork, quantized
from tests.support.onnx_trials import check_floats, grid_samples, trial_of

EQUATIONS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "ij,jk": ((3, 4), (4, 5)),
    "bhqd,bhkd->bhqk": ((2, 3, 4, 5), (2, 3, 6, 5)),
    "bqhd,bkhd->bhqk": ((2, 4, 3, 5), (2, 6, 3, 5)),
    "bhqk,bkhd->bqhd": ((2, 3, 4, 6), (2, 6, 3, 5)),
    "...ij,jk->...ik": ((2, 3, 4), (4, 5)),
    "...ij,...jk": ((2, 3, 4), (2, 4, 5)),
    "b i j, b j -> b i": ((2, 3, 4), (2, 4)),
    "i,j->ij": ((3,), (4,)),
    "ij,ij->ij": ((3, 4), (3, 4)),
    "ijk,il->lj": ((3, 4, 2), (3, 5)),
    "ij,jk,kl->il": ((3, 4), (4, 5), (5, 2)),
    "ij->i": ((3, 4),),
    "ij->ji": ((3, 4),),
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(equation: str, tmp_path: Path) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input(f"x{i}", *shape) for i, shape in enumerate(EQUATIONS[equation])]
    check_floats(net, net.add("Einsum", inputs, "y", equation=equation), tmp_path)


def test_a_diagonal_is_refused(tmp_path: Path) -> None:
    net = OnnxNetwork()
    net.add("Einsum", [net.add_input("x", 3, 3)], "y", equation="ii->i")
    onnx.save(net.model(["y"]), tmp_path / "net.onnx")
    with pytest.raises(UnsupportedError, match="an axis twice in 'ii'"):
        frontend.read(tmp_path / "net.onnx")


@pytest.mark.parametrize(
    ("channels", "options"),
    [
        (3, {"pads": [1] * 6}),
        (4, {"strides": [1, 2, 2], "group": 2}),
        (3, {"dilations": [2, 1, 2], "pads": [2, 0, 1, 1, 0, 0]}),
        (4, {"group": 4, "strides": [2, 1, 1], "auto_pad": "SAME_UPPER"}),
    ],
    ids=["padded", "groups", "dilated", "depthwise"],
)
def test_conv_in_three_dimensions(channels: int, options: dict[str, Any], tmp_path: Path) -> None:
    net = OnnxNetwork()
    kernel = net.weights(8, channels // options.get("group", 1), 3, 2, 3)
    inputs = [net.add_input("x", 2, channels, 5, 6, 7), kernel, net.weights(8)]
    check_floats(net, net.add("Conv", inputs, "y", **options), tmp_path)


@pytest.mark.parametrize("groups", [2, 3, 6])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_transposed_convolution_in_groups(groups: int, outputs: int, tmp_path: Path) -> None:
    net = OnnxNetwork()
    weights = net.weights(6, outputs, 3, 3), net.weights(outputs * groups)
    options = {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1], "group": groups}
    x = net.add_input("x", 1, 6, 5, 5)
    check_floats(net, net.add("ConvTranspose", [x, *weights], "y", **options), tmp_path)


@pytest.mark.parametrize(
    "setting",
    [
        {"activations": "int8"},
        {"activations": "int8", "per_channel": False},
        {"activations": "uint8", "weights": "uint8", "per_channel": False},
    ],
    ids=["channels", "int8", "uint8 weights"],
)
def test_a_quantized_transposed_convolution_in_groups(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input("x", 1, 6, 5, 5), net.weights(6, 2, 4, 4)]
    net.add("ConvTranspose", inputs, "y", strides=[2, 2], pads=[1] * 4, group=2)
    path = quantized(net.model(["y"]), tmp_path / "net.onnx", **setting)
    trial = trial_of(path, "groups", grid_samples(path, 5, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.most_steps < 1.5, trial.fidelity.text()
    codes = {op.code for op in frontend.read(path).graph.operators}
    assert "TRANSPOSE_CONV" in codes


SIZES = [1, 3, 11, 13]
SMALLER = [1, 3, 4, 5]


@pytest.mark.parametrize("sizes", [SIZES, SMALLER], ids=["larger", "smaller"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"coordinate_transformation_mode": "align_corners"},
        {"coordinate_transformation_mode": "asymmetric", "cubic_coeff_a": -0.5},
        {"coordinate_transformation_mode": "pytorch_half_pixel", "exclude_outside": 1},
        {"coordinate_transformation_mode": "half_pixel_symmetric"},
    ],
    ids=str,
)
def test_a_cubic_resize(options: dict[str, Any], sizes: list[int], tmp_path: Path) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input("x", 1, 3, 6, 7), "", "", net.constant(sizes, np.int64)]
    check_floats(net, net.add("Resize", inputs, "y", mode="cubic", **options), tmp_path)


def test_a_cubic_resize_by_scales(tmp_path: Path) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input("x", 1, 3, 6, 7), "", net.constant([1, 1, 2, 3], np.float32)]
    check_floats(net, net.add("Resize", inputs, "y", mode="cubic"), tmp_path)


def test_an_antialiased_resize_is_refused(tmp_path: Path) -> None:
    net = OnnxNetwork()
    inputs = [net.add_input("x", 1, 3, 6, 7), "", "", net.constant(SMALLER, np.int64)]
    net.add("Resize", inputs, "y", mode="cubic", antialias=1)
    onnx.save(net.model(["y"]), tmp_path / "net.onnx")
    with pytest.raises(UnsupportedError, match="its interpolation is antialiased"):
        frontend.read(tmp_path / "net.onnx")
