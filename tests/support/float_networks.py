"""The demo's network in float, trained for a few seconds, to be quantized."""

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ethosgen.host.environments import ENVIRONMENTS
from ethosgen.host.worker import run_script

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

    made = quantize_network(layers, images)
    trained = iter([p.value for layer in layers for p in layer.parameters()])

    def plain(tensor: TensorSpec) -> TensorSpec:
        if tensor.name.endswith("_shape"):
            return tensor
        data = None if tensor.data is None else next(trained).astype(np.float32)
        return replace(tensor, dtype="float32", scale=(), zero_point=(), data=data)

    tensors = list(map(plain, made.tensors))
    network = NetworkSpec(tensors, made.operators, made.inputs, made.outputs)
    path.write_bytes(write_tflite(network))
    return path


def digits_pt2(path: Path, layers: Any) -> Path:
    """Write the demo's float network as .pt2, with images in NCHW."""
    trained = [p.value.astype(np.float32) for layer in layers for p in layer.parameters()]
    arrays = {
        str(number): np.ascontiguousarray(
            one.transpose((3, 0, 1, 2) if one.shape[0] == 1 else (0, 3, 1, 2))
            if one.ndim == 4
            else one
        )
        for number, one in enumerate(trained)
    }
    script = Path(__file__).with_name("digits_programs.py")
    reply = run_script(ENVIRONMENTS["torch"], script, "save_float", {}, arrays)
    path.write_bytes(reply.arrays["file"].tobytes())
    return path
