"""Networks with int4 weights on the NPU: Vela gets int8 of the same values."""

from pathlib import Path

import numpy as np

from ethosgen import pipeline
from ethosgen.backend.ethosu.offload.widening import widen_int4
from ethosgen.frontend.flatbuffer import parse_model
from ethosgen.pipeline import Inputs
from ethosgen.values.watch import Watch
from layer_networks import int4_constant
from networks import Network, Spec


def _network() -> bytes:
    net = Network("narrow", seed=2)
    x = net.input((1, 6, 5, 3))
    w = int4_constant(net, net.random_integers((7, 3, 3, 3)), (0.1,), 0)
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1}
    y = net.operator("CONV_2D", [x, w], [Spec((1, 6, 5, 7), "int8", 0.5, 4)], options)[0]
    v = int4_constant(net, net.random_integers((3, 210)), (0.1,), 0)
    return net.build(net.operator("FULLY_CONNECTED", [y, v, -1], [Spec((1, 3), "int8", 8.0, 0)])[0])


def test_the_npu_computes_with_int4_weights(tmp_path: Path) -> None:
    path = tmp_path / "narrow.tflite"
    path.write_bytes(_network())
    report = pipeline.simulate(path, npu="ethos-u55-128", inputs=Inputs(None, 2, 1), watch=Watch())
    assert report.passed
    assert report.as_json()["cpu_operators"] == []


def test_the_file_has_int8_of_the_same_values() -> None:
    model = parse_model(_network(), "narrow")
    wide = widen_int4(model)
    assert wide.data != model.data and widen_int4(wide) is wide
    for before, after in zip(model.graph.tensors, wide.graph.tensors, strict=True):
        assert after == before
    weights = model.graph.tensors[1].array()
    assert weights.dtype == np.int8 and (weights.min(), weights.max()) == (-8, 7)
