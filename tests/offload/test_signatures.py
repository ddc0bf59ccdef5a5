"""Networks whose shape signatures are stale: Vela is shown the shapes, as TFLite uses them."""

import dataclasses
from pathlib import Path

from ethosgen import pipeline
from ethosgen.backend.ethosu.offload.signatures import settle_signatures
from ethosgen.frontend.flatbuffer import parse_model
from ethosgen.pipeline import Inputs
from ethosgen.values.watch import Watch
from networks import Network


def _network() -> bytes:
    """Return layers that were made for 6 x 6 and then grown, as CFU-Playground's were."""
    net = Network("grown", seed=5)
    x = net.input((1, 10, 12, 3))
    x = net.conv2d(x, 8, kernel=(3, 3), stride=(2, 2))
    y = net.fully_connected(net.max_pool(net.conv2d(x, 4), (2, 2)), 3)
    for index, tensor in enumerate(net.tensors):
        if len(tensor.shape) == 4 and tensor.data is None:
            signature = (-1, *(max(size // 2, 1) for size in tensor.shape[1:3]), tensor.shape[3])
            net.tensors[index] = dataclasses.replace(tensor, shape_signature=signature)
    return net.build(y)


def test_the_npu_computes_on_the_shapes(tmp_path: Path) -> None:
    path = tmp_path / "grown.tflite"
    path.write_bytes(_network())
    report = pipeline.simulate(path, npu="ethos-u55-128", inputs=Inputs(None, 3, 1), watch=Watch())
    assert report.passed
    assert report.as_json()["cpu_operators"] == []


def test_nothing_else_changes_in_the_file() -> None:
    model = parse_model(_network(), "grown")
    settled = settle_signatures(model)
    assert settled.data != model.data and settled.graph == model.graph
    assert not settled.contradictions and settle_signatures(settled) is settled
