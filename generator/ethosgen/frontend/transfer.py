"""A graph as JSON and arrays, to pass to another process or to keep."""

from typing import Any

import numpy as np

from ethosgen.values.network import Graph, Operator, Quantization, Tensor

Packed = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


def pack(graph: Graph) -> Packed:
    """Return a graph as JSON's types, and the data of its constants by the tensor's number."""
    return {
        "name": graph.name,
        "tensors": [_tensor(tensor) for tensor in graph.tensors],
        "operators": [
            [operator.code, operator.inputs, operator.outputs, _plain(operator.options)]
            for operator in graph.operators
        ],
        "inputs": graph.inputs,
        "outputs": graph.outputs,
    }, {
        str(tensor.index): np.frombuffer(tensor.data, np.uint8)
        for tensor in graph.tensors
        if tensor.data is not None
    }


def unpack(values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> Graph:
    """Return the graph from the result of `pack`."""
    tensors = []
    for index, (name, shape, dtype, quantization) in enumerate(values["tensors"]):
        data = arrays.get(str(index))
        tensors.append(
            Tensor(
                index,
                name,
                tuple(shape),
                dtype,
                Quantization(*map(_tuples, quantization)) if quantization else None,
                None if data is None else data.tobytes(),
            )
        )
    operators = [
        Operator(index, code, tuple(inputs), tuple(outputs), options=_tuples(options))
        for index, (code, inputs, outputs, options) in enumerate(values["operators"])
    ]
    ends = tuple(values["inputs"]), tuple(values["outputs"])
    return Graph(values["name"], tuple(tensors), tuple(operators), *ends)


def _tensor(tensor: Tensor) -> list[Any]:
    scale = tensor.quantization
    quantization = [scale.scale, scale.zero_point, scale.axis] if scale else None
    return [tensor.name, tensor.shape, tensor.dtype, quantization]


def _plain(value: Any) -> Any:
    """Return options with Python's numbers in place of numpy's."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def _tuples(value: Any) -> Any:
    """Return JSON's lists as the tuples of options and quantizations."""
    if isinstance(value, dict):
        return {name: _tuples(item) for name, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
