"""Operators' outputs that a file marks as variables: Vela drops them from the network's outputs.

The file marks the output of a CIRCULAR_BUFFER as one, because TFLite Micro then keeps it between
inferences. Here its state is a separate tensor (aot/states.py), and its output an ordinary one.
"""

from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import (
    TENSOR_IS_VARIABLE,
    field,
    padded,
    tensor_tables,
)
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import Model


def settle_variables(model: Model) -> Model:
    """Return the model with no operator's output marked as a variable in the file."""
    written = [{i for op in graph.operators for i in op.outputs} for graph in model.graphs]
    wrong = [
        graph.tensors[i].is_variable and i in outputs
        for graph, outputs in zip(model.graphs, written, strict=True)
        for i in range(len(graph.tensors))
    ]
    if not any(wrong):
        return model
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    for (entry, _), is_wrong in zip(tensor_tables(root, model), wrong, strict=True):
        if is_wrong:
            data[field(entry, TENSOR_IS_VARIABLE)] = 0
    return decode_model(bytes(data), model.name)
