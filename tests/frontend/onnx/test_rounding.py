"""Why a deep network is not ONNX Runtime's to the step: each layer's second rounding, alone.

Each layer gets ONNX Runtime's own integers, so that nothing adds up. TensorFlow Lite Micro, which
rounds a sum twice as the NPU does, then differs by one step now and then. LiteRT's default kernels
round once and are ONNX Runtime's but for float sums that end next to a tie.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from ai_edge_litert.interpreter import Interpreter

from ethosgen import frontend
from ethosgen.frontend.tflite.writer import write_network
from ethosgen.oracle import TFLM
from ethosgen.values.network import Graph, Network
from tests.support.onnx_trials import grid_samples, network_file

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]
LAYERS = ("CONV_2D", "DEPTHWISE_CONV_2D")


@dataclass(frozen=True)
class Layer:
    """A layer as a network of its own, with ONNX Runtime's input and output in integers."""

    network: Network
    inputs: Array
    expected: Array


def runtime_values(path: Path, sample: dict[str, Any]) -> dict[str, Array]:
    """Return ONNX Runtime's result of each QuantizeLinear by the name of what it quantizes."""
    model = onnx.load(path)
    nodes = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    del model.graph.output[:]
    model.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(node.output[0]) for node in nodes
    )
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    results = session.run([node.output[0] for node in nodes], sample)
    return {node.input[0]: values for node, values in zip(nodes, results, strict=True)}


def layers(path: Path, sample: dict[str, Any]) -> Iterator[Layer]:
    """Yield the layers, each with the PAD before it, whose ends ONNX Runtime has in integers."""
    network, values = frontend.read(path), runtime_values(path, sample)
    graph = network.graph
    pads = {op.outputs[0]: op for op in graph.operators if op.code == "PAD"}
    for op in graph.operators:
        if op.code not in LAYERS:
            continue
        chain = [*filter(None, [pads.get(op.inputs[0])]), op]
        ends = [graph.tensors[i] for i in (chain[0].inputs[0], op.outputs[0])]
        known = [values.get(end.name) for end in ends]
        if any(end is None for end in known):
            continue
        inputs, expected = (end.transpose(0, 2, 3, 1) for end in known if end is not None)
        operators = tuple(replace(operator, index=i) for i, operator in enumerate(chain))
        alone = Graph("main", graph.tensors, operators, (ends[0].index,), (ends[1].index,))
        yield Layer(Network("layer", (alone,)), inputs, expected)


def with_tflm(layer: Layer) -> Array:
    ends = layer.network.inputs[0], layer.network.outputs[0]
    return TFLM.run(layer.network, [{ends[0].name: layer.inputs}])[0][ends[1].name]


def with_single_rounding(layer: Layer) -> Array:
    interpreter = Interpreter(model_content=write_network(layer.network))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], layer.inputs)
    interpreter.invoke()
    return np.asarray(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


@pytest.mark.parametrize(("run", "most"), [(with_tflm, 0.01), (with_single_rounding, 0.0001)])
def test_a_layer_alone_is_within_a_step(
    run: Callable[[Layer], Array], most: float, tmp_path: Path
) -> None:
    path = network_file("MobileNetV2", tmp_path)
    (sample,) = grid_samples(path, 1, seed=3)

    steps = [
        np.abs(run(layer).astype(int) - layer.expected.astype(int)).ravel()
        for layer in layers(path, sample)
    ]

    assert len(steps) >= 40
    differences = np.concatenate(steps)
    assert np.max(differences) <= 1
    assert np.mean(differences == 1) < most
