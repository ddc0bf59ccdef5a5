"""Float networks to quantize: a small one, and the demo's, trained for a few seconds."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.script import run_script
from tests.support.networks import NetworkBuilder, Spec

Array = np.ndarray[Any, Any]

EPOCHS = 12
"""Enough for 97% of the digits; the demo's 80 take half a minute."""


@functools.cache
def trained_digits(epochs: int = EPOCHS) -> Any:
    """Return the demo's trained float network, its calibration images and its held-out digits."""
    from digits import CALIBRATION, load_split
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    from train_digits import console, train

    training, held_out = load_split()
    console.quiet = True
    with threadpool_limits(1):
        layers = train(training, epochs)
    return layers, training.images[:CALIBRATION], held_out


def digits_tflite(path: Path, layers: Any, images: Array) -> Path:
    """Write the demo's float network as .tflite: the int8 one with the trained floats in it."""
    from quantize import NetworkSpec, TensorSpec, quantize_network
    from tflite_writer import write_tflite

    quantized = quantize_network(layers, images)
    trained = iter([p.value for layer in layers for p in layer.parameters()])

    def plain(tensor: TensorSpec) -> TensorSpec:
        if tensor.name.endswith("_shape"):
            return tensor
        data = None if tensor.data is None else next(trained).astype(np.float32)
        return replace(tensor, dtype="float32", scale=(), zero_point=(), data=data)

    tensors = list(map(plain, quantized.tensors))
    network = NetworkSpec(tensors, quantized.operators, quantized.inputs, quantized.outputs)
    path.write_bytes(write_tflite(network))
    return path


def digits_pt2(path: Path, layers: Any) -> Path:
    """Write the demo's float network as .pt2, with images in NCHW."""
    trained = [p.value.astype(np.float32) for layer in layers for p in layer.parameters()]
    arrays = {
        str(number): np.ascontiguousarray(
            weights.transpose((3, 0, 1, 2) if weights.shape[0] == 1 else (0, 3, 1, 2))
            if weights.ndim == 4
            else weights
        )
        for number, weights in enumerate(trained)
    }
    script = Path(__file__).with_name("digits_programs.py")
    reply = run_script(ENVIRONMENTS["torch"], script, "save_float", {}, arrays)
    path.write_bytes(reply.arrays["file"].tobytes())
    return path


def float_network(path: Path, *, ratio: float = 1) -> Path:
    """Write CONV_2D, CONV_2D, MEAN, FULLY_CONNECTED and SOFTMAX in float32.

    One channel between the convolutions is `ratio` times as large as the others.
    """
    net = NetworkBuilder("float", seed=3)
    random = np.random.default_rng(3)

    def constant(*shape: int, scale: float = 0.3) -> Array:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    def add(code: str, inputs: list[int], shape: tuple[int, ...], name: str, **options: Any) -> int:
        (index,) = net.operator(code, inputs, [Spec(shape, "float32", name=name)], options)
        return index

    first, second = constant(8, 1, 1, 3), constant(4, 1, 1, 8)
    first[0] *= ratio
    second[..., 0] /= ratio
    window = {"stride_h": 1, "stride_w": 1, "padding": "SAME"}
    x = net.input((1, 8, 8, 3), "float32", name="image")
    kernels = [net.constant(array) for array in (first, constant(8), second, constant(4))]
    x = add("CONV_2D", [x, *kernels[:2]], (1, 8, 8, 8), "wide", **window)
    relu = {"fused_activation_function": "RELU"}
    x = add("CONV_2D", [x, *kernels[2:]], (1, 8, 8, 4), "narrow", **window, **relu)
    axes = net.constant(np.array([1, 2], np.int32))
    x = add("MEAN", [x, axes], (1, 4), "mean", keep_dims=False)
    weights = [net.constant(constant(5, 4, scale=1.0)), net.constant(constant(5))]
    x = add("FULLY_CONNECTED", [x, *weights], (1, 5), "scores")
    x = add("SOFTMAX", [x], (1, 5), "shares", beta=1.0)
    path.write_bytes(net.build(x))
    return path
