from pathlib import Path

import numpy as np
import pytest

from ethosgen.frontend import read
from ethosgen.values.quantization import is_float, quantize_command
from tests.support.networks import NetworkBuilder, Spec


def dense(path: Path, dtype: str, scale: float | None) -> Path:
    net = NetworkBuilder("dense")
    x = net.input((1, 4), dtype, scale)
    weights = net.constant(np.ones((3, 4)), dtype, scale)
    (y,) = net.operator("FULLY_CONNECTED", [x, weights], [Spec((1, 3), dtype, scale)])
    path.write_bytes(net.build(y))
    return path


def test_only_a_network_without_quantized_tensors_is_float(tmp_path: Path) -> None:
    assert is_float(read(dense(tmp_path / "float.tflite", "float32", None)))
    assert not is_float(read(dense(tmp_path / "int8.tflite", "int8", 0.1)))


def test_a_network_without_weights_is_not_float(tmp_path: Path) -> None:
    net = NetworkBuilder("plain")
    x = net.input((1, 4), "float32", None)
    (y,) = net.operator("LOGISTIC", [x], [Spec((1, 4), "float32")])
    (tmp_path / "plain.tflite").write_bytes(net.build(y))
    assert not is_float(read(tmp_path / "plain.tflite"))


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a b.onnx", "ethosgen quantize 'a b.onnx' --data SAMPLES.npz -o 'a b_int8.onnx'"),
        ("x.TFLITE", "ethosgen quantize x.TFLITE --data SAMPLES.npz -o x_int8.TFLITE"),
        ("x.tosa", ""),
    ],
)
def test_the_command_keeps_the_format(name: str, command: str) -> None:
    assert quantize_command(name) == command
