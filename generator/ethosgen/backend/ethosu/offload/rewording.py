"""Rewrite networks that TFLite accepts but Vela misreads.

- Shape signatures that contradict the shapes. Vela prefers the signature (tflite_reader.cpp),
  TFLite ignores it. Tools that resize or cut a network can leave an old one behind.
- 4-bit weights, for which Vela 5.2 divides by zero. TFLite's kernels unpack them first, so the NPU
  gets the same values in 8 bits, in twice the bytes before Vela compresses them.
- Empty constants, such as the shape with which RESHAPE makes a scalar, in a separate buffer. Vela
  accepts them only in buffer 0 (tflite_model_semantics.cpp).
- Operator outputs that the file marks as variables, which Vela drops from the network's outputs.
  A CIRCULAR_BUFFER's is one, so that TFLite Micro keeps it between inferences. Here its state is a
  separate tensor (aot/graph/states.py), and its output an ordinary one.
- A placement of tensors in memory, which Vela would keep instead of its own.
- One scale for all weights of an int8 or int16 FULLY_CONNECTED. Vela then multiplies the scales in
  single precision (Regor, tflite/tflite_scaling.cpp, RescalePerChannelToExplicit), TFLite Micro in
  double, and sums that are nearly halfway between two results differ. A scale for each channel,
  all equal, is multiplied in double. A single channel gets two equal ones: Vela counts the scales
  to tell the two ways apart, and takes that of a channel modulo their number (Regor,
  ethos_u55_weight_encoder.cpp and ethos_u85_weight_encoder.cpp, Get).
"""

from dataclasses import replace

from ethosgen.values.network import PLACEMENT, Graph, Network, Quantization, Tensor


def reworded(network: Network) -> Network:
    """Return an equivalent network that Vela reads correctly; the same object if it already is."""
    graphs = tuple(map(_reworded, network.graphs))
    has_empty = any(not tensor.elements for graph in graphs for tensor in graph.tensors)
    is_odd = network.contradictions or has_empty or PLACEMENT in network.metadata
    if graphs == network.graphs and not is_odd:
        return network
    metadata = {name: data for name, data in network.metadata.items() if name != PLACEMENT}
    return network.edited(*graphs, metadata=metadata)


def _reworded(graph: Graph) -> Graph:
    written = graph.written
    weights = products_weights(graph)
    tensors = (
        replace(
            t,
            is_packed=False,
            is_variable=t.is_variable and t.index not in written,
            quantization=_per_channel(t) if t.index in weights else t.quantization,
        )
        for t in graph.tensors
    )
    return replace(graph, tensors=tuple(tensors))


def products_weights(graph: Graph) -> set[int]:
    """Return the constant int8 weights that only FULLY_CONNECTED reads, always as weights."""
    is_product = [op.code == "FULLY_CONNECTED" for op in graph.operators]
    pairs = list(zip(graph.operators, is_product, strict=True))
    read = {i for op, product in pairs for i in (op.inputs[:1] if product else op.inputs)}
    second_operands = {op.inputs[1] for op, product in pairs if product} - read - set(graph.outputs)
    constant = (graph.tensors[i] for i in second_operands if graph.tensors[i].data is not None)
    return {tensor.index for tensor in constant if tensor.dtype == "int8"}


def _per_channel(weights: Tensor) -> Quantization | None:
    """Return the same quantization with a scale per output channel, two for a single channel."""
    quantization = weights.quantization
    if quantization is None or not quantization.is_per_tensor:
        return quantization
    count = max(weights.shape[0], 2)
    return Quantization(quantization.scale * count, quantization.zero_point * count, axis=0)
