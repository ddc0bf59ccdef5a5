"""Whole networks as .tosa files, made by the tools that users have.

ExecuTorch lowers PyTorch's networks (`torch_programs.py`) to TOSA, and Arm's
tosa-converter-for-tflite those of .tflite files. `NETWORKS` and `CONVERTED` list both by the names
that evidence/frontends.md has.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ethosgen.frontend.tosa.reader import parse_network
from ethosgen.host.environments import ENVIRONMENTS, child_variables
from ethosgen.host.script import run_script
from ethosgen.values.network import Network
from ethosgen.values.outcome import Arrays
from tests import ROOT
from tests.support.networks import NetworkBuilder

HERE = Path(__file__).parent
SAMPLES = 5
_EXPORT_S = 1200.0
_CONVERT_S = 300.0
_SPREAD = 4.0

NETWORKS: dict[str, tuple[str, str]] = {
    "MobileNetV2": ("mobilenet_v2", "int8"),
    "DS-CNN": ("ds_cnn", "int8"),
    "ResNet-8": ("resnet_8", "int8"),
    "autoencoder": ("autoencoder", "int8"),
    "transformer block": ("transformer", "int8"),
    "LSTM": ("lstm", "int8"),
    "DS-CNN in int16": ("ds_cnn", "int16"),
    "LSTM in int16": ("lstm", "int16"),
}
"""From PyTorch: by title, the name in torch_programs.py and the type of activations."""


@dataclass(frozen=True)
class Exported:
    """A network from PyTorch, samples, and torch's outputs for them in steps of the output."""

    network: Network
    samples: list[Arrays]
    theirs: list[Arrays]


def exported(titles: Sequence[str]) -> dict[str, Exported]:
    """Return networks of NETWORKS, all lowered by one process in the environment "torch"."""
    request = {
        "programs": str(HERE / "torch_programs.py"),
        "wanted": [list(NETWORKS[title]) for title in titles],
        "samples": SAMPLES,
    }
    script = HERE / "tosa_exports.py"
    arrays = run_script(ENVIRONMENTS["torch"], script, "lower", request, limit_s=_EXPORT_S).arrays
    return {title: _exported(title, arrays) for title in titles}


def _exported(title: str, arrays: dict[str, Any]) -> Exported:
    key = " ".join(NETWORKS[title])
    network = parse_network(arrays[f"{key} file"].tobytes(), f"{title}.tosa")
    (source,), (target,) = network.inputs, network.outputs
    return Exported(
        network,
        [{source.name: array} for array in arrays[f"{key} in"]],
        [{target.name: array} for array in arrays[f"{key} out"]],
    )


# ---- from .tflite --------------------------------------------------------------------------------


def converted(tflite: bytes, name: str) -> Network:
    """Return the network that Arm's converter makes of a .tflite file.

    It writes MLIR's bytecode, which tosa-opt of the environment "tosa" serializes.
    """
    with tempfile.TemporaryDirectory() as place:
        original, code, serialized = (
            Path(place) / file for file in ("a.tflite", "a.mlirbc", "a.tosa")
        )
        original.write_bytes(tflite)
        converter = Path(sys.executable).with_name("tosa-converter-for-tflite")
        _run(Path(sys.executable), converter, original, "--bytecode", "-o", code)
        python = ENVIRONMENTS["tosa"].find()
        target = "profiles=pro_int extensions=int16,int4 specification_version=1.0"
        _run(
            python,
            python.with_name("tosa-opt"),
            code,
            f"--tosa-attach-target={target}",
            f"--tosa-serialize=tosa-flatbuffer-filename={serialized}",
        )
        return parse_network(serialized.read_bytes(), f"{name}.tosa")


def _run(python: Path, *command: str | Path) -> None:
    done = subprocess.run(
        [python, *command],
        env=child_variables(python),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_CONVERT_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def _digits() -> bytes:
    return (ROOT / "demo" / "digits_int8.tflite").read_bytes()


def _dense(net: NetworkBuilder, x: int, units: int, activation: str = "NONE") -> int:
    """Add a layer whose outputs spread over the range of their type though its inputs may not."""
    layer = net.fully_connected(x, units, activation, keep_num_dims=True)
    spec = net.tensors[layer]
    assert isinstance(spec.scale, float)
    net.tensors[layer] = replace(spec, scale=spec.scale / _SPREAD)
    return layer


def _autoencoder() -> bytes:
    """The autoencoder of MLPerf Tiny for anomalies in sounds."""
    net = NetworkBuilder("autoencoder", seed=1)
    x = net.input((1, 640))
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = _dense(net, x, units, "RELU")
    return net.build(_dense(net, x, 640))


def _transformer(tokens: int = 16, width: int = 32) -> bytes:
    """An encoder block: attention of one head, layer norms, a feed-forward part."""
    net = NetworkBuilder("transformer", seed=1)
    x = net.input((1, tokens, width))
    query, key, value = (_dense(net, x, width) for _ in range(3))
    scores = net.apply("BATCH_MATMUL", query, key, adj_y=True, scale=2.0, zero_point=2)
    mixed = net.apply("BATCH_MATMUL", net.softmax(scores), value, scale=0.03, zero_point=-1)
    x = _norm(net, net.add(x, _dense(net, mixed, width)))
    inner = _dense(net, x, 4 * width, "RELU")
    return net.build(_norm(net, net.add(x, _dense(net, inner, width))))


def _norm(net: NetworkBuilder, x: int) -> int:
    """Add a layer norm over the last dimension in integers, without its gain."""
    middle = net.sub(x, net.mean(x, (-1,)))
    step = net.tensors[middle].scale
    assert isinstance(step, float)
    squares = net.mul(middle, middle, scale=60 * step**2, zero_point=-128)
    variance = net.mean(squares, (-1,))
    spread = net.unary("RSQRT", variance, scale=1 / (60 * 30 * step), zero_point=-128)
    return net.mul(middle, spread, scale=0.03, zero_point=1)


def _lstm(steps: int = 3, depth: int = 8, cells: int = 16, step_size: float = 0.008) -> bytes:
    """An LSTM by its equations, unrolled over the time steps, and a classifier."""
    net = NetworkBuilder("lstm", seed=1)
    hidden = net.input((1, cells), scale=step_size, name="hidden")
    cell = net.input((1, cells), name="cell")
    for step in range(steps):
        features = net.input((1, depth), scale=step_size, name=f"x{step}")
        both = net.concat([features, hidden])
        taken, left, out = (net.logistic(_dense(net, both, cells)) for _ in range(3))
        new = net.tanh(_dense(net, both, cells))
        cell = net.add(net.mul(left, cell), net.mul(taken, new))
        hidden = net.mul(out, net.tanh(cell))
        hidden = net.quantize(hidden, "int8", step_size, 3)
    return net.build(_dense(net, hidden, 5))


def _mobilenet_v2() -> bytes:
    from bench.mobilenet import build

    return build(size=96, softmax=False)


CONVERTED: dict[str, Callable[[], bytes]] = {
    "digits": _digits,
    "MobileNetV2": _mobilenet_v2,
    "autoencoder": _autoencoder,
    "transformer block": _transformer,
    "LSTM": _lstm,
}
"""From .tflite: by title, the file's bytes."""
