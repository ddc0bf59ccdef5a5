"""Write a NetworkSpec as a .tflite file, with ethosgen's own writer."""

from quantize import NetworkSpec, OperatorSpec, TensorSpec

from ethosgen.frontend.tflite.writer import write_network
from ethosgen.values.dialect import OPS
from ethosgen.values.network import Graph, Network, Operator, Quantization, Tensor


def write_tflite(network: NetworkSpec) -> bytes:
    """Return the file's bytes."""
    graph = Graph(
        "main",
        tuple(_tensor(tensor, index) for index, tensor in enumerate(network.tensors)),
        tuple(_operator(operator, index) for index, operator in enumerate(network.operators)),
        network.inputs,
        network.outputs,
    )
    return write_network(Network("digits", (graph,)))


def _tensor(tensor: TensorSpec, index: int) -> Tensor:
    scales = Quantization(tensor.scale, tensor.zero_point, tensor.axis) if tensor.scale else None
    data = None if tensor.data is None else tensor.data.tobytes()
    return Tensor(index, tensor.name, tensor.shape, tensor.dtype, scales, data)


def _operator(operator: OperatorSpec, index: int) -> Operator:
    options = OPS[operator.code].defaults() | operator.options
    return Operator(index, operator.code, operator.inputs, (operator.output,), options=options)
