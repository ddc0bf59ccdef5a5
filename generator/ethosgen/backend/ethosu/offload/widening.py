"""Widens weights of 4 bits to 8: Vela 5.2 divides by zero on them.

TFLite's kernels compute with the same values, as they unpack them first. So the NPU gets the
network with its original values, in twice the bytes before Vela compresses them.
"""

from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import (
    ALIGNMENT,
    TENSOR_BUFFER,
    TENSOR_TYPE,
    element,
    field,
    padded,
    point,
    tensor_tables,
)
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import Model

_MODEL_BUFFERS, _BUFFER_DATA = 4, 0
"""Fields of the tables Model and Buffer."""
_INT4, _INT8 = 17, 9
"""Values of TensorType."""


def widen_int4(model: Model) -> Model:
    """Return the model with its int4 constants as int8 in the file too."""
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    narrow = []
    for entry, tensor in tensor_tables(root, model):
        # A field with the default value, float32, is absent.
        kind = field(entry, TENSOR_TYPE)
        if kind != entry.Pos and data[kind] == _INT4:
            narrow.append((entry, kind, tensor.data or b""))
    for entry, kind, values in narrow:
        data[kind] = _INT8
        place = field(entry, TENSOR_BUFFER)
        number = int.from_bytes(data[place : place + 4], "little")
        buffer = element(root, field(root, _MODEL_BUFFERS), number)
        data += bytes(ALIGNMENT - 4) + len(values).to_bytes(4, "little")
        point(data, field(buffer, _BUFFER_DATA), len(data) - 4)
        data += values + bytes(-len(values) % ALIGNMENT)
    return decode_model(bytes(data), model.name) if narrow else model
