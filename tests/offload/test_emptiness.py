"""Networks with constants of no elements: Vela takes those in buffer 0 only."""

from pathlib import Path

import numpy as np

from ethosgen import pipeline
from ethosgen.backend.ethosu.offload.emptiness import share_empty_buffer
from ethosgen.frontend.flatbuffer import parse_model
from ethosgen.pipeline import Inputs
from ethosgen.values.watch import Watch
from networks import Network, Spec


def _network() -> bytes:
    """Return a layer, and RESHAPE of its only output to a scalar."""
    net = Network("scalar", seed=4)
    x = net.fully_connected(net.input((1, 6)), 1)
    shape = net.constant(np.zeros(0, np.int32))
    spec = net.tensors[x]
    scalar = Spec((), "int8", spec.scale, spec.zero_point)
    return net.build(net.operator("RESHAPE", [x, shape], [scalar])[0])


def test_the_npu_runs_the_layer_before(tmp_path: Path) -> None:
    path = tmp_path / "scalar.tflite"
    path.write_bytes(_network())
    report = pipeline.simulate(path, npu="ethos-u55-128", inputs=Inputs(None, 2, 1), watch=Watch())
    assert report.passed
    assert report.as_json()["npu"]["npu_operators"] >= 1


def test_nothing_else_changes_in_the_file() -> None:
    model = parse_model(_network(), "scalar")
    shared = share_empty_buffer(model)
    assert shared.data != model.data
    assert shared.graph == model.graph
    net = Network("full")
    full = parse_model(net.build(net.fully_connected(net.input((1, 6)), 1)), "full")
    assert share_empty_buffer(full) is full
