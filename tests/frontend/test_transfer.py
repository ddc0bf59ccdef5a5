"""A graph passes from process to process unchanged."""

import json
from pathlib import Path

import pytest

from ethosgen import frontend
from ethosgen.frontend.transfer import pack, unpack
from tests.support.small_models import image_net, two_inputs


@pytest.mark.parametrize("writer", [image_net, two_inputs])
def test_a_graph_comes_back_as_it_was(writer, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    graph = frontend.read(writer(tmp_path / "net.tflite")).graph
    values, arrays = pack(graph)
    back = unpack(json.loads(json.dumps(values)), arrays)
    assert back.tensors == graph.tensors
    assert (back.inputs, back.outputs) == (graph.inputs, graph.outputs)
    for ours, theirs in zip(back.operators, graph.operators, strict=True):
        assert (ours.code, ours.inputs, ours.outputs) == (
            theirs.code,
            theirs.inputs,
            theirs.outputs,
        )
        assert dict(ours.options) == dict(theirs.options)
