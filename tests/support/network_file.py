"""Networks as `networks` describes them, written by ethosgen's one writer; and odd files."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flatbuffers
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

from ethosgen.frontend.tflite.identifier import IDENTIFIER
from ethosgen.frontend.tflite.writer import write_network
from ethosgen.values.dialect import OPS
from ethosgen.values.network import Graph, Network, Operator, Quantization, Tensor


@dataclass(frozen=True)
class Spec:
    """A tensor's properties. scale None means no quantization; tuples are per-channel along `axis`.

    `is_packed` stores int8 data in 4 bits each.
    """

    shape: tuple[int, ...]
    dtype: str = "int8"
    scale: float | tuple[float, ...] | None = None
    zero_point: int | tuple[int, ...] = 0
    axis: int = 0
    name: str | None = None
    data: bytes | None = None
    is_variable: bool = False
    is_packed: bool = False


@dataclass(frozen=True)
class OperatorSpec:
    """One operator to write; `options` by the schema's field names in snake case."""

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


def write(net: Layout) -> bytes:
    """Return the file's bytes."""
    graphs = [_graph(layout) for layout in (net, *net.others)]
    return write_network(Network(net.name, tuple(graphs), net.metadata))


def _graph(net: Layout) -> Graph:
    return Graph(
        net.name,
        tuple(_tensor(spec, i) for i, spec in enumerate(net.tensors)),
        tuple(_operator(spec, i) for i, spec in enumerate(net.operators)),
        tuple(net.inputs),
        tuple(net.outputs),
    )


def _tensor(spec: Spec, index: int) -> Tensor:
    name = f"tensor_{index}" if spec.name is None else spec.name
    quantization = None
    if spec.scale is not None:
        points = spec.zero_point if isinstance(spec.zero_point, tuple) else (spec.zero_point,)
        scales = spec.scale if isinstance(spec.scale, tuple) else (spec.scale,)
        quantization = Quantization(scales, points, spec.axis)
    more = (spec.data, spec.is_variable, spec.is_packed)
    return Tensor(index, name, spec.shape, spec.dtype, quantization, *more)


def _operator(spec: OperatorSpec, index: int) -> Operator:
    """Return an operator with all the options that its code has, as a converter writes them."""
    options = OPS[spec.code].defaults()
    assert spec.custom_code or options.keys() >= spec.options.keys(), spec
    return Operator(
        index,
        spec.code,
        spec.inputs,
        spec.outputs,
        spec.custom_code,
        options | dict(spec.options),
        spec.custom_options,
        spec.intermediates,
        spec.version,
    )


# ---- files that the writer does not write --------------------------------------------------------


def unpacked(data: bytes) -> Any:
    """Return a file as the schema's own objects, of which any can be changed."""
    return schema.ModelT.InitFromPackedBuf(data, 0)


def packed(root: Any) -> bytes:
    """Return the file of the schema's objects."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(root.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def with_signatures(data: bytes, signatures: Mapping[int, Sequence[int]]) -> bytes:
    """Return a file whose tensors, by index, have these shape signatures."""
    root = unpacked(data)
    for index, signature in signatures.items():
        root.subgraphs[0].tensors[index].shapeSignature = list(signature)
    return packed(root)


def with_own_buffers(data: bytes, tensors: Collection[int]) -> bytes:
    """Return a file whose tensors, by index, have empty buffers of their own."""
    root = unpacked(data)
    for index in tensors:
        root.subgraphs[0].tensors[index].buffer = len(root.buffers)
        root.buffers.append(schema.BufferT())
    return packed(root)
