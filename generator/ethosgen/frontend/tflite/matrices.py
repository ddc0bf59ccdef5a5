"""Matrices with a scale for each channel; BATCH_MATMUL uses only the first."""

from dataclasses import replace

from ethosgen.values.network import Graph, Network, Quantization, Tensor


def with_first_scales(network: Network) -> Network:
    """Return the network with the one scale that TensorFlow Lite Micro uses, the first.

    LiteRT would use 0. It decides for int16 by int8, which TensorFlow Lite Micro lacks, so those do
    not change, and neither does a matrix that another operator reads, too.
    """
    return replace(network, graphs=tuple(map(_of_graph, network.graphs)))


def _of_graph(graph: Graph) -> Graph:
    tensors = tuple(_of_tensor(tensor, graph) for tensor in graph.tensors)
    return graph if tensors == graph.tensors else replace(graph, tensors=tensors)


def _of_tensor(tensor: Tensor, graph: Graph) -> Tensor:
    known = tensor.quantization
    if tensor.data is None or known is None or len(known.scale) < 2:
        return tensor
    readers = graph.readers(tensor.index)
    is_matrix = readers and all(
        op.code == "BATCH_MATMUL"
        and {graph.tensors[i].dtype for i in op.inputs[:2]} == {tensor.dtype}
        for op in readers
    )
    if not is_matrix:
        return tensor
    return replace(tensor, quantization=Quantization(known.scale[:1], known.zero_point[:1]))
