"""Keeps ONNX Runtime from saturating where a model's operators on integers do not."""

import numpy as np
import onnx
from onnx import numpy_helper

_WEIGHTS = {
    "MatMulInteger": (1, 3),
    "ConvInteger": (1, 3),
    "QLinearConv": (3, 5),
    "QLinearMatMul": (3, 5),
    "QGemm": (3, 5),
}
"""Where operators on integers have weights and their zero point; input 2 is that of activations."""


def without_saturation(data: bytes) -> bytes:
    """Return a model whose int8 weights next to uint8 activations are uint8, 128 higher.

    On x86 processors without VNNI, ONNX Runtime adds two products of uint8 and int8 in 16 bits,
    where they saturate. Its own remedy, session.x64quantprecision, is an optimization.
    """
    model = onnx.load_model_from_string(data)
    layers = [node for node in model.graph.node if node.op_type in _WEIGHTS]
    if not layers:
        return data
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    unsigned = {name for name, tensor in held.items() if tensor.data_type == onnx.TensorProto.UINT8}
    for node in model.graph.node:
        if node.op_type == "DynamicQuantizeLinear":
            unsigned |= set(node.output)
    for node in layers:
        places = _WEIGHTS[node.op_type]
        inputs = [*node.input, *[""] * (places[1] + 1 - len(node.input))]
        weights, points = (inputs[place] for place in places)
        if inputs[2] not in unsigned or weights not in held or (points and points not in held):
            continue
        if held[weights].data_type != onnx.TensorProto.INT8:
            continue
        for place, name in zip(places, (weights, points), strict=True):
            array = numpy_helper.to_array(held[name]) if name else np.int8(0)
            above = (np.asarray(array, np.int16) + 128).astype(np.uint8)
            inputs[place] = f"{node.output[0]}_unsigned{place}"
            model.graph.initializer.append(numpy_helper.from_array(above, inputs[place]))
        node.input[:] = inputs
    return bytes(model.SerializeToString())
