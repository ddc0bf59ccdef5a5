"""Networks as Vela reads them rightly: it misreads what TFLite reads without harm.

- Shape signatures that contradict the shapes. Vela takes a signature before the shape
  (tflite_reader.cpp), TFLite ignores it. Tools that resize a network or cut a piece out of it may
  leave the old one behind.
- Weights of 4 bits, where Vela 5.2 divides by zero. TFLite's kernels unpack them first, so the
  NPU gets the same values in 8 bits, in twice the bytes before Vela compresses them.
- Constants of no elements, such as the shape with which RESHAPE makes a scalar, in a buffer of
  their own. Vela takes them in buffer 0 only (tflite_model_semantics.cpp).
- Outputs of operators that the file calls variables, which Vela drops from the network's outputs.
  A CIRCULAR_BUFFER's is one, as TFLite Micro then keeps it between two inferences. Here its state
  is a tensor of its own (aot/states.py), and its output an ordinary one.
- A placement of tensors in memory, which Vela would keep instead of its own.
"""

from dataclasses import replace

from ethosgen.values.model import PLACEMENT, Graph, Model


def reworded(model: Model) -> Model:
    """Return the same network for Vela; the same object where Vela reads its file rightly."""
    graphs = tuple(map(_reworded, model.graphs))
    has_empty = any(not tensor.elements for graph in graphs for tensor in graph.tensors)
    is_odd = model.contradictions or has_empty or PLACEMENT in model.metadata
    if graphs == model.graphs and not is_odd:
        return model
    metadata = {name: data for name, data in model.metadata.items() if name != PLACEMENT}
    return model.edited(*graphs, metadata=metadata)


def _reworded(graph: Graph) -> Graph:
    written = {i for operator in graph.operators for i in operator.outputs}
    tensors = (
        replace(t, is_packed=False, is_variable=t.is_variable and t.index not in written)
        for t in graph.tensors
    )
    return replace(graph, tensors=tuple(tensors))
