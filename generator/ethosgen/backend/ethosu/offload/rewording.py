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
"""

from dataclasses import replace

from ethosgen.values.network import PLACEMENT, Graph, Network


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
    written = {i for operator in graph.operators for i in operator.outputs}
    tensors = (
        replace(t, is_packed=False, is_variable=t.is_variable and t.index not in written)
        for t in graph.tensors
    )
    return replace(graph, tensors=tuple(tensors))
