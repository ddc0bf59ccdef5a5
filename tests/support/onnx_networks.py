"""Builds ONNX networks node by node, and quantizes them with ONNX Runtime's own quantizer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper, save, shape_inference
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    QuantType,
    quantize_static,
)

OPSET = 21
TYPES = {"int8": QuantType.QInt8, "uint8": QuantType.QUInt8, "int16": QuantType.QInt16}


@dataclass
class OnnxNetwork:
    """A float network in the making; `add` returns the name of a node's output."""

    seed: int = 0
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def add_input(self, name: str, *shape: int | str, kind: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def add(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        output = output or f"{op.lower()}_{len(self.nodes)}"
        self.add_node(op, inputs, [output], **attributes)
        return output

    def add_node(
        self, op: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any
    ) -> None:
        """Add a node with any number of outputs."""
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))

    def constant(self, values: Any, dtype: Any = np.float32, name: str = "") -> str:
        name = name or f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weights(self, *shape: int) -> str:
        """Add random weights that keep the magnitude of activations about the same."""
        fan_in = max(int(np.prod(shape[1:])), 1)
        return self.constant(self.random.standard_normal(shape) * (1.5 / fan_in) ** 0.5)

    def model(self, outputs: Iterable[str], opset: int = OPSET) -> ModelProto:
        """Return the checked network, without what the outputs do not need."""
        names = list(outputs)
        needed = set(names)
        nodes: list[Any] = []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                nodes.insert(0, node)
                needed.update(node.input)
        inputs = [value for value in self.inputs if value.name in needed]
        constants = [value for value in self.constants if value.name in needed]
        results = [onnx.ValueInfoProto(name=name) for name in names]
        graph = helper.make_graph(nodes, "network", inputs, results, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 10
        model = shape_inference.infer_shapes(model, strict_mode=True)
        checker.check_model(model)
        return model


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, samples: list[dict[str, Any]]) -> None:
        self.samples = iter(samples)

    def get_next(self) -> dict[str, Any] | None:
        return next(self.samples, None)


def random_samples(model: ModelProto, count: int, seed: int) -> list[dict[str, Any]]:
    """Draw normal samples for each input of a network."""
    random = np.random.default_rng(seed)
    return [
        {
            value.name: random.standard_normal(
                [size.dim_value for size in value.type.tensor_type.shape.dim]
            ).astype(np.float32)
            for value in model.graph.input
        }
        for _ in range(count)
    ]


def quantized(
    model: ModelProto,
    path: Path,
    *,
    activations: str = "int8",
    weights: str = "int8",
    per_channel: bool = True,
    operators: Sequence[str] | None = None,
    is_qdq: bool = True,
    **options: Any,
) -> Path:
    """Write a network as ONNX Runtime's quantizer makes it; return its path.

    It is in QDQ form, or has operators on integers.
    """
    original = path.with_suffix(".float.onnx")
    save(model, original)
    quantize_static(
        original,
        path,
        _Samples(random_samples(model, 8, seed=1)),
        quant_format=QuantFormat.QDQ if is_qdq else QuantFormat.QOperator,
        per_channel=per_channel,
        weight_type=TYPES[weights],
        activation_type=TYPES[activations],
        op_types_to_quantize=operators,
        extra_options=options,
    )
    return path
