"""Makes shape signatures agree with shapes: Vela uses a stale signature, TFLite ignores it.

Regor's reader takes a tensor's shape_signature before its shape (tflite_reader.cpp). Tools that
resize a network or cut a piece out of it may leave the old one unchanged.
"""

from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import (
    TENSOR_SIGNATURE,
    field,
    padded,
    point,
    tensor_tables,
)
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import Model


def settle_signatures(model: Model) -> Model:
    """Return the model with each signature replaced by its shape, if any contradicts."""
    if not model.contradictions:
        return model
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    for entry, tensor in list(tensor_tables(root, model)):
        slot = field(entry, TENSOR_SIGNATURE)
        if slot != entry.Pos:
            point(data, slot, len(data))
            for number in (len(tensor.shape), *tensor.shape):
                data += number.to_bytes(4, "little")
    return decode_model(bytes(data), model.name)
