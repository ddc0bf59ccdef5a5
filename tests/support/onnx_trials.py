"""Reads quantized ONNX networks and compares them: with the oracle, and with ONNX Runtime.

`python -m tests.support.onnx_trials int8 Conv MaxPool` prints the figures of rows of
`onnx_operators`.
"""

import logging
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ethosgen import frontend
from ethosgen.oracle.runtimes.onnx import run as run_onnx
from ethosgen.values.fidelity import Fidelity, compare_fidelity
from ethosgen.values.outcome import Arrays
from tests.support.onnx_files import ALSO, NETWORKS
from tests.support.onnx_networks import OnnxNetwork, quantized, random_samples
from tests.support.onnx_operators import ROWS, Row
from tests.support.trials import Trial, try_network

SETTINGS: dict[str, dict[str, Any]] = {
    "int8": {"activations": "int8"},
    "uint8": {"activations": "uint8", "per_channel": False},
    "uint8 weights": {"activations": "uint8", "weights": "uint8", "per_channel": False},
    "int16": {"activations": "int16", "ActivationSymmetric": True},
    "float bias": {"activations": "int8", "QuantizeBias": False},
}
"""How networks are quantized; weights are int8 per channel unless they say otherwise."""

LAYERS = ("Conv", "Conv + Relu", "ConvTranspose", "Gemm", "MatMul")


def settings_of(name: str) -> tuple[str, ...]:
    """Return the settings of a row: weights and biases differ in layers alone.

    uint8 activations become int8 where the file is read.
    """
    return tuple(SETTINGS) if name in LAYERS else ("int8", "int16")


_TABLES = "TFLite interpolates between the entries of its int16 tables"
_ROUNDINGS = (
    "TFLite and the NPU round each layer's sums twice, which adds up over the layers; alone, on "
    "ONNX Runtime's own integers, no element of MobileNetV2's convolutions differs by more than a "
    "step, and 0.3% by one; kernels that round once differ in 35 of 6.3 million "
    "(tests/frontend/onnx/test_rounding.py)"
)
KNOWN: dict[tuple[str, str], tuple[int, str]] = {
    ("Sigmoid", "int16"): (2, _TABLES),
    ("Tanh", "int16"): (3, _TABLES),
    ("Exp", "int16"): (2, _TABLES),
    ("Softmax", "int16"): (2, _TABLES),
    ("BatchNormalization", "int16"): (2, "a step of the convolution before it is scaled up"),
    ("MobileNetV2", "int8"): (2, _ROUNDINGS),
    ("transformer block", "int8"): (2, _ROUNDINGS),
}
"""Rows and networks with differences above one step: the most steps, and the cause."""


def row_network(
    row: Row, setting: str, folder: Path, seed: int = 0, *, is_qdq: bool = True
) -> Path:
    """Write the network of a row."""
    net = OnnxNetwork(seed)
    outputs = row.build(net)
    operators = list(row.also) or [row.name]
    options = {"ForceQuantizeNoInputCheck": True, **row.options, **SETTINGS[setting]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        path = quantized(
            net.model(outputs), folder / "net.onnx", operators=operators, is_qdq=is_qdq, **options
        )
        logging.disable(logging.NOTSET)
    return path


def grid_samples(path: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Draw inputs on the grid of their quantization.

    ONNX rounds ties to even and TFLite away from zero: a tie at an input, frequent in int16, would
    hide what the operators do.
    """
    model = onnx.load(path)
    held = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    steps = {
        node.input[0]: float(held[node.input[1]])
        for node in model.graph.node
        if node.op_type == "QuantizeLinear"
    }
    random = np.random.default_rng(seed)
    samples = []
    for _ in range(count):
        sample = {}
        for tensor in model.graph.input:
            shape = [size.dim_value for size in tensor.type.tensor_type.shape.dim]
            values = random.standard_normal(shape)
            step = np.float32(steps.get(tensor.name, 2.0**-10))
            sample[tensor.name] = (np.rint(values / step).astype(np.float32) * step).astype(
                np.float32
            )
        samples.append(sample)
    return samples


def trial_of(path: Path, name: str, samples: Sequence[Arrays]) -> Trial:
    """Compare a network with the oracle and with ONNX Runtime, as `try_network` does."""
    network = frontend.read(path)
    theirs = run_onnx(network.source, samples) if network.source else []
    return try_network(network, name, samples, theirs, "ONNX Runtime")


def check_floats(net: OnnxNetwork, output: str, folder: Path) -> None:
    """Fail unless a network in float has ONNX Runtime's outputs, and the oracle's."""
    path = folder / "net.onnx"
    onnx.save(net.model([output]), path)
    trial = trial_of(path, "floats", random_samples(onnx.load(path), 4, 1))
    assert (trial.npu, trial.cpu) == (0, 0)
    assert trial.fidelity.equal == trial.fidelity.elements, trial.fidelity.text()


def row_trial(name: str, setting: str, folder: Path, seed: int = 0) -> Trial:
    """Return the figures of a row."""
    path = row_network(ROWS[name], setting, folder, seed)
    return trial_of(path, name, grid_samples(path, 3, seed + 7))


def network_file(name: str, folder: Path, seed: int = 0) -> Path:
    """Write a whole network in int8."""
    net = OnnxNetwork(seed)
    model = net.model(NETWORKS[name](net))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return quantized(model, folder / "net.onnx", operators=ALSO.get(name))


def network_trial(name: str, folder: Path, seed: int = 0) -> Trial:
    """Return the figures of a whole network, in int8, with ten samples."""
    path = network_file(name, folder, seed)
    return trial_of(path, name, _network_samples(path, seed))


def _network_samples(path: Path, seed: int) -> list[dict[str, Any]]:
    return grid_samples(path, 10, seed + 3)


def optimized(trial: Trial, seed: int = 0) -> tuple[Fidelity, Fidelity]:
    """Compare ONNX Runtime with its default optimizations: with a network's outputs, and itself.

    The trial is one of `network_trial` with the same seed.
    """
    network = trial.plan.network
    source = network.source
    assert source is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.name
        path.write_bytes(source.data)
        samples = _network_samples(path, seed)
    fused, plain = (run_onnx(source, samples, is_optimized) for is_optimized in (True, False))
    title = "ONNX Runtime, optimized"
    ours, own = (
        compare_fidelity(network, outputs, fused, title, "", None)
        for outputs in (trial.outputs, plain)
    )
    return ours, own


def main(setting: str, *names: str) -> None:
    """Print the figures of rows."""
    for name in names or ROWS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                trial = row_trial(name, setting, Path(folder))
            except Exception as error:
                print(f"{name:28s} {setting:6s} {type(error).__name__}: {str(error)[:200]}")
                continue
        print(
            f"{name:28s} {setting:6s} npu {trial.npu} cpu {trial.cpu} of {trial.elements} "
            f"{trial.oracle}; on NPU {trial.on_npu}, CPU {len(trial.on_cpu)}; "
            f"{trial.fidelity.text()}",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
