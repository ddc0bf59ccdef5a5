"""Moves empty constants to TFLite's empty buffer: Vela refuses a file with other empty ones.

To reshape to a scalar, a converter gives RESHAPE a shape without elements, in an empty buffer of
its own. Buffer 0 is the one that TFLite's schema reserves for this, and the only one that Vela
accepts (Regor's tflite_model_semantics.cpp: constant tensors must not have empty buffers).
"""

from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import TENSOR_BUFFER, field, padded, tensor_tables
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import Model


def share_empty_buffer(model: Model) -> Model:
    """Return the model with every tensor without elements at buffer 0."""
    if all(tensor.elements for graph in model.graphs for tensor in graph.tensors):
        return model
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    for entry, tensor in tensor_tables(root, model):
        place = field(entry, TENSOR_BUFFER)
        if not tensor.elements and place != entry.Pos:  # the field is absent if it is 0
            data[place : place + 4] = bytes(4)
    return decode_model(bytes(data), model.name)
