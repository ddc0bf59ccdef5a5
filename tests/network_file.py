"""Writes .tflite files with the published schema classes; `networks` describes their content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
import numpy as np
import tflite

DTYPES = {
    "float32": "FLOAT32",
    "float16": "FLOAT16",
    "int4": "INT4",
    "int32": "INT32",
    "uint8": "UINT8",
    "int64": "INT64",
    "bool": "BOOL",
    "int16": "INT16",
    "int8": "INT8",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "uint16": "UINT16",
    "resource": "RESOURCE",
}

OPTIONS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "TRANSPOSE_CONV": "TransposeConvOptions",
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "SOFTMAX": "SoftmaxOptions",
    "CONCATENATION": "ConcatenationOptions",
    "RESHAPE": "ReshapeOptions",
    "SQUEEZE": "SqueezeOptions",
    "ADD": "AddOptions",
    "SUB": "SubOptions",
    "MUL": "MulOptions",
    "DIV": "DivOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "LEAKY_RELU": "LeakyReluOptions",
    "GELU": "GeluOptions",
    "ARG_MAX": "ArgMaxOptions",
    "ARG_MIN": "ArgMinOptions",
    "SPLIT": "SplitOptions",
    "SPLIT_V": "SplitVOptions",
    "PACK": "PackOptions",
    "UNPACK": "UnpackOptions",
    "GATHER": "GatherOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "RESIZE_BILINEAR": "ResizeBilinearOptions",
    "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "MIRROR_PAD": "MirrorPadOptions",
    "CAST": "CastOptions",
    "SVDF": "SVDFOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "CUMSUM": "CumsumOptions",
    "DEPTH_TO_SPACE": "DepthToSpaceOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "REDUCE_ALL": "ReducerOptions",
    "SHAPE": "ShapeOptions",
    "SPACE_TO_DEPTH": "SpaceToDepthOptions",
    "CALL_ONCE": "CallOnceOptions",
    "IF": "IfOptions",
    "VAR_HANDLE": "VarHandleOptions",
    "WHILE": "WhileOptions",
}
"""The options table of each operator that needs one; others are written without."""


@dataclass(frozen=True)
class Spec:
    """A tensor. A scale of None means no quantization; tuples mean per-channel along `axis`."""

    shape: tuple[int, ...]
    dtype: str = "int8"
    scale: float | tuple[float, ...] | None = None
    zero_point: int | tuple[int, ...] = 0
    axis: int = 0
    name: str | None = None
    data: bytes | None = None
    is_variable: bool = False
    shape_signature: tuple[int, ...] | None = None


@dataclass(frozen=True)
class OperatorSpec:
    """One operator to write; `options` has the schema's field names in snake case."""

    code: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]
    custom_code: str | None
    custom_options: bytes
    version: int
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A whole file: a subgraph's tensors and operators, the other subgraphs, named metadata."""

    name: str
    tensors: Sequence[Spec]
    operators: Sequence[OperatorSpec]
    inputs: Sequence[int]
    outputs: Sequence[int]
    metadata: Mapping[str, bytes]
    others: Sequence["Layout"] = ()


class File:
    """Writes a Layout as a flatbuffer."""

    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1024)
        self.buffers: list[bytes] = [b""]  # buffer 0 is empty by convention

    def write(self, net: Layout) -> bytes:
        """Return the file's bytes."""
        codes: list[tuple[str, str | None, int]] = []
        layouts = [net, *net.others]
        for made in (made for layout in layouts for made in layout.operators):
            key = (made.code, made.custom_code, made.version)
            if key not in codes:
                codes.append(key)
        names = ["main", *(layout.name for layout in net.others)]
        subgraphs = [
            self.subgraph(layout, codes, name) for layout, name in zip(layouts, names, strict=True)
        ]
        metadata = []
        for name, data in net.metadata.items():
            self.buffers.append(data)
            label = self.builder.CreateString(name)
            metadata.append(self.table("Metadata", name=label, buffer=len(self.buffers) - 1))
        model = self.table(
            "Model",
            version=3,
            operator_codes=self.tables([self.code(*key) for key in codes]),
            subgraphs=self.tables(subgraphs),
            description=self.builder.CreateString(net.name),
            buffers=self.tables([self.buffer(data) for data in self.buffers]),
            metadata=self.tables(metadata) if metadata else None,
        )
        self.builder.Finish(model, b"TFL3")
        return bytes(self.builder.Output())

    def subgraph(self, net: Layout, codes: list[tuple[str, str | None, int]], name: str) -> int:
        tensors = self.tables([self.tensor(spec, i) for i, spec in enumerate(net.tensors)])
        operators = self.tables([self.operator(made, codes) for made in net.operators])
        return self.table(
            "SubGraph",
            tensors=tensors,
            inputs=self.numbers(net.inputs, "int32"),
            outputs=self.numbers(net.outputs, "int32"),
            operators=operators,
            name=self.builder.CreateString(name),
        )

    def table(self, schema: str, **fields: Any) -> int:
        """Write a table; None leaves a field out. Write its offsets before."""
        getattr(tflite, f"{schema}Start")(self.builder)
        for field, value in fields.items():
            if value is not None:
                pascal = "".join(word[:1].upper() + word[1:] for word in field.split("_"))
                getattr(tflite, f"{schema}Add{pascal}")(self.builder, value)
        return int(getattr(tflite, f"{schema}End")(self.builder))

    def tables(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def numbers(self, values: Sequence[Any], dtype: str) -> int:
        return int(self.builder.CreateNumpyVector(np.array(list(values), dtype)))

    def buffer(self, data: bytes) -> int:
        if not data:
            return self.table("Buffer")
        self.builder.StartVector(1, len(data), 16)  # the schema requires 16-byte alignment
        self.builder.head -= len(data)
        self.builder.Bytes[self.builder.head : self.builder.head + len(data)] = data
        return self.table("Buffer", data=self.builder.EndVector())

    def code(self, code: str, custom_code: str | None, version: int) -> int:
        number = getattr(tflite.BuiltinOperator, code)
        custom = self.builder.CreateString(custom_code) if custom_code else None
        return self.table(
            "OperatorCode",
            deprecated_builtin_code=min(number, 127),  # TFLite's placeholder for newer operators
            builtin_code=number,
            custom_code=custom,
            version=version,
        )

    def tensor(self, spec: Spec, index: int) -> int:
        buffer = 0
        if spec.data is not None:
            self.buffers.append(spec.data)
            buffer = len(self.buffers) - 1
        quantization = None
        if spec.scale is not None:
            scales = spec.scale if isinstance(spec.scale, tuple) else (spec.scale,)
            points = spec.zero_point if isinstance(spec.zero_point, tuple) else (spec.zero_point,)
            quantization = self.table(
                "QuantizationParameters",
                scale=self.numbers(scales, "float32"),
                zero_point=self.numbers(points, "int64"),
                quantized_dimension=spec.axis,
            )
        signature = spec.shape_signature
        return self.table(
            "Tensor",
            shape=self.numbers(spec.shape, "int32"),
            type=getattr(tflite.TensorType, DTYPES[spec.dtype]),
            buffer=buffer,
            name=self.builder.CreateString(f"tensor_{index}" if spec.name is None else spec.name),
            quantization=quantization,
            is_variable=spec.is_variable,
            shape_signature=None if signature is None else self.numbers(signature, "int32"),
        )

    def operator(self, made: OperatorSpec, codes: list[tuple[str, str | None, int]]) -> int:
        options = self.options(made)
        custom = None
        if made.custom_options:
            custom = self.numbers(list(made.custom_options), "uint8")
        return self.table(
            "Operator",
            opcode_index=codes.index((made.code, made.custom_code, made.version)),
            inputs=self.numbers(made.inputs, "int32"),
            outputs=self.numbers(made.outputs, "int32"),
            builtin_options_type=options[0],
            builtin_options=options[1],
            custom_options=custom,
            intermediates=self.numbers(made.intermediates, "int32") if made.intermediates else None,
        )

    def options(self, made: OperatorSpec) -> tuple[int | None, int | None]:
        schema = OPTIONS.get(made.code)
        if schema is None:
            return None, None
        values = {field: self.value(value) for field, value in made.options.items()}
        return getattr(tflite.BuiltinOptions, schema), self.table(schema, **values)

    def value(self, value: Any) -> Any:
        """Convert an enumerator's name to its number, and a list to a vector."""
        if isinstance(value, str):
            if value in DTYPES:
                return getattr(tflite.TensorType, DTYPES[value])
            owner = tflite.Padding if value in ("SAME", "VALID") else tflite.ActivationFunctionType
            if not hasattr(owner, value):
                return self.builder.CreateString(value)
            return getattr(owner, value)
        return self.numbers(value, "int32") if isinstance(value, list | tuple) else value
