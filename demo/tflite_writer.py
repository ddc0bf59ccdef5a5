"""Writes a NetworkSpec as a .tflite file with the published schema's builders."""

from importlib import import_module
from typing import Any

import flatbuffers
import numpy as np
import tflite
from quantize import NetworkSpec, OperatorSpec, TensorSpec

FILE_IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3
DATA_ALIGNMENT = 16
ENUMS = {"FusedActivationFunction": tflite.ActivationFunctionType, "Padding": tflite.Padding}


def write_tflite(network: NetworkSpec) -> bytes:
    """Return the file's bytes; buffer 0 is empty, as the schema requires."""
    builder = flatbuffers.Builder(1 << 16)
    buffers = [_table(builder, "Buffer")]
    tensors = []
    for tensor in network.tensors:
        if tensor.data is not None:
            buffers.append(_buffer(builder, tensor.data.tobytes()))
        tensors.append(_tensor(builder, tensor, 0 if tensor.data is None else len(buffers) - 1))
    codes = sorted({o.code for o in network.operators})
    operators = [_operator(builder, o, codes.index(o.code)) for o in network.operators]
    subgraph = _table(
        builder,
        "SubGraph",
        Tensors=_offsets(builder, tensors),
        Inputs=_array(builder, network.inputs, np.int32),
        Outputs=_array(builder, network.outputs, np.int32),
        Operators=_offsets(builder, operators),
        Name=builder.CreateString("main"),
    )
    model = _table(
        builder,
        "Model",
        Version=SCHEMA_VERSION,
        OperatorCodes=_offsets(builder, [_operator_code(builder, code) for code in codes]),
        Subgraphs=_offsets(builder, [subgraph]),
        Description=builder.CreateString("8x8 digits, int8, by ethosgen's demo/train_digits.py"),
        Buffers=_offsets(builder, buffers),
    )
    builder.Finish(model, file_identifier=FILE_IDENTIFIER)
    return bytes(builder.Output())


def _table(builder: flatbuffers.Builder, kind: str, **fields: Any) -> int:
    # `import tflite` binds each table's name to its class, which hides the module that builds it.
    schema = import_module(f"tflite.{kind}")
    schema.Start(builder)
    for name, value in fields.items():
        getattr(schema, f"Add{name}")(builder, value)
    return int(schema.End(builder))


def _buffer(builder: flatbuffers.Builder, content: bytes) -> int:
    builder.Prep(DATA_ALIGNMENT, len(content))
    return _table(builder, "Buffer", Data=builder.CreateByteVector(content))


def _tensor(builder: flatbuffers.Builder, tensor: TensorSpec, buffer: int) -> int:
    fields = {
        "Shape": _array(builder, tensor.shape, np.int32),
        "Name": builder.CreateString(tensor.name),
        "Type": getattr(tflite.TensorType, tensor.dtype.upper()),
        "Buffer": buffer,
    }
    if tensor.scale:
        fields["Quantization"] = _table(
            builder,
            "QuantizationParameters",
            Scale=_array(builder, tensor.scale, np.float32),
            ZeroPoint=_array(builder, tensor.zero_point, np.int64),
            QuantizedDimension=tensor.axis,
        )
    return _table(builder, "Tensor", **fields)


def _operator(builder: flatbuffers.Builder, operator: OperatorSpec, code_index: int) -> int:
    options = {
        name: getattr(ENUMS[name], value) if name in ENUMS else value
        for name, value in operator.options.items()
    }
    return _table(
        builder,
        "Operator",
        OpcodeIndex=code_index,
        Inputs=_array(builder, operator.inputs, np.int32),
        Outputs=_array(builder, (operator.output,), np.int32),
        BuiltinOptionsType=getattr(tflite.BuiltinOptions, operator.options_table),
        BuiltinOptions=_table(builder, operator.options_table, **options),
    )


def _operator_code(builder: flatbuffers.Builder, code: str) -> int:
    number = getattr(tflite.BuiltinOperator, code)
    # Readers older than the 32-bit field use the 8-bit one; every code used here fits in both.
    return _table(
        builder, "OperatorCode", DeprecatedBuiltinCode=number, BuiltinCode=number, Version=1
    )


def _array(builder: flatbuffers.Builder, values: tuple[float, ...], dtype: type) -> int:
    return int(builder.CreateNumpyVector(np.array(values, dtype)))


def _offsets(builder: flatbuffers.Builder, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
