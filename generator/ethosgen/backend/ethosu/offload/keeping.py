"""Keeps single operators on the CPU: Vela's own option knows operators by type only.

An operator that must stay is given to Vela as a custom one, which no NPU knows, under a name that
tells its index. Vela passes it through, and its real name comes back afterwards. The file is not
written anew: a table that changes is appended, and what points to it is redirected, as offsets in a
flatbuffer are relative and only lead forward.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import flatbuffers
from flatbuffers import number_types
from flatbuffers.table import Table

from ethosgen.backend.ethosu.offload.patching import (
    GRAPH_TENSORS,
    MODEL_GRAPHS,
    TENSOR_TYPE,
    padded,
)
from ethosgen.backend.ethosu.offload.patching import element as _element
from ethosgen.backend.ethosu.offload.patching import field as _field
from ethosgen.backend.ethosu.offload.patching import point as _point
from ethosgen.backend.ethosu.offload.patching import target as _target
from ethosgen.frontend.flatbuffer import decode_model
from ethosgen.values.model import ABSENT, Graph, Model, Operator, Tensor

_MARK = "ethosgen_keep_"
_MARKED = re.compile(rf"{_MARK}(\d+)")

_CUSTOM = 32
"""BuiltinOperator_CUSTOM."""
_MODEL_CODES, _GRAPH_OPERATORS = 1, 3
"""Fields of the tables Model and SubGraph, as those in patching."""
_INT8 = 9
"""TensorType_INT8."""


def at_bool_ends(graph: Graph) -> dict[int, str]:
    """Return the operators that touch an input or output of type bool, each with the reason.

    Vela converts those on the NPU, and refuses the network as the NPU cannot (GraphIrOptimiser::
    ConvertBool8Tensors). So `mark` shows them as int8, which only operators that stay may see.
    """
    ends = _bool_ends(graph)
    return {
        op.index: f"the NPU does not compute in bool (tensor '{graph.tensors[index].name}')"
        for op in graph.operators
        for index in ends.intersection((*op.inputs, *op.outputs))
    }


def _bool_ends(graph: Graph) -> set[int]:
    return {i for i in (*graph.inputs, *graph.outputs) if graph.tensors[i].dtype == "bool"}


def mark(
    model: Model, keep: Collection[int], awaited: Mapping[int, Sequence[int]] | None = None
) -> Model:
    """Return the model with operators of the entry graph, by index, made custom.

    `awaited` are tensors that some of them have as further inputs, only for the order's sake.

    Its inputs and outputs of type bool become int8. Other graphs are left out: Vela would compile
    them for nothing, as what calls them stays.
    """
    ends = _bool_ends(model.graph)
    if not keep and not ends:
        return model
    data = padded(model.data)
    root = Table(data, int.from_bytes(data[:4], "little"))
    graphs = _field(root, MODEL_GRAPHS)
    count = _target(data, graphs)
    data[count : count + 4] = (1).to_bytes(4, "little")
    tensors = _field(_element(root, graphs, 0), GRAPH_TENSORS)
    for index in ends:
        data[_field(_element(root, tensors, index), TENSOR_TYPE)] = _INT8
    if not keep:
        return decode_model(bytes(data), model.name)
    operators = _field(_element(root, graphs, 0), _GRAPH_OPERATORS)
    codes = _field(root, _MODEL_CODES)
    count = int.from_bytes(data[_target(data, codes) :][:4], "little")
    chosen = sorted(keep)
    start = len(data)
    data += _fragment(model, data, _target(data, codes), count, chosen, awaited or {})
    fragment = Table(data, start + int.from_bytes(data[start : start + 4], "little"))
    _point(data, codes, _target(data, _field(fragment, _MODEL_CODES)))
    moved = _field(fragment, MODEL_GRAPHS)
    for position, index in enumerate(chosen):
        slot = _target(data, operators) + 4 + 4 * index
        _point(data, slot, _element(fragment, moved, position).Pos)
    return decode_model(bytes(data), model.name)


def unmark(network: Model, original: Model) -> Model:
    """Return Vela's output for a marked model, with the operators' real names and options.

    Inputs and outputs are bool again where they were, and constants 1 where Vela made true of -1.
    """
    graph = network.graph
    operators = tuple(_restored(op, original.graph.operators) for op in graph.operators)
    ours, theirs = (*graph.inputs, *graph.outputs), original.graph
    ends = zip(ours, (*theirs.inputs, *theirs.outputs), strict=False)
    bools = {i for i, j in ends if theirs.tensors[j].dtype == "bool"}
    tensors = tuple(
        replace(t, dtype="bool") if t.index in bools else _with_plain_bools(t)
        for t in graph.tensors
    )
    restored = replace(graph, operators=operators, tensors=tensors)
    return replace(network, graphs=(restored, *network.graphs[1:]))


def _with_plain_bools(tensor: Tensor) -> Tensor:
    if tensor.dtype != "bool" or tensor.data is None:
        return tensor
    return replace(tensor, data=bytes(byte != 0 for byte in tensor.data))


def marked_operators(network: Model) -> dict[int, int]:
    """Return which operator of the original each marked one is that Vela passed through."""
    return {
        operator.index: int(marked[1])
        for operator in network.graph.operators
        if (marked := _MARKED.fullmatch(operator.custom_code or ""))
    }


def with_absent_inputs(graph: Graph, original: Graph, sources: Mapping[int, int]) -> Graph:
    """Return a residual graph whose operators have their optional inputs where TFLite has them.

    Vela leaves absent inputs out, and what comes behind them moves up. `sources` maps operators of
    the residual graph to the original ones.
    """
    operators = list(graph.operators)
    for index, source in sources.items():
        theirs = original.operators[source]
        inputs = iter(operators[index].inputs)
        present = sum(i != ABSENT for i in theirs.inputs)
        if ABSENT in theirs.inputs and present == len(operators[index].inputs):
            filled = tuple(ABSENT if i == ABSENT else next(inputs) for i in theirs.inputs)
            operators[index] = replace(operators[index], inputs=filled)
    return replace(graph, operators=tuple(operators))


def _restored(operator: Operator, originals: Sequence[Operator]) -> Operator:
    marked = _MARKED.fullmatch(operator.custom_code or "")
    if marked is None:
        return operator
    theirs = originals[int(marked[1])]
    present = sum(i != ABSENT for i in theirs.inputs)
    return replace(
        operator,
        inputs=operator.inputs[:present],
        code=theirs.code,
        custom_code=theirs.custom_code,
        options=theirs.options,
        custom_options=theirs.custom_options,
        version=theirs.version,
    )


def _fragment(
    model: Model,
    data: bytearray,
    codes: int,
    count: int,
    chosen: Sequence[int],
    awaited: Mapping[int, Sequence[int]],
) -> bytes:
    """Return a flatbuffer with the longer list of operator codes, and the marked operators.

    Its root has the fields of Model that `mark` reads: the operators stand where the graphs would.
    """
    builder = flatbuffers.Builder(1024)
    known = [_copy_code(builder, data, codes + 4 + 4 * i) for i in range(count)]
    known += [_code(builder, f"{_MARK}{index}", _CUSTOM, 1) for index in chosen]
    operators = []
    for number, index in enumerate(chosen):
        operator = model.graph.operators[index]
        inputs = _indices(builder, (*operator.inputs, *awaited.get(index, ())))
        outputs = _indices(builder, operator.outputs)
        builder.StartObject(9)
        builder.PrependUint32Slot(0, count + number, 0)
        builder.PrependUOffsetTRelativeSlot(1, inputs, 0)
        builder.PrependUOffsetTRelativeSlot(2, outputs, 0)
        operators.append(builder.EndObject())
    vectors = [_offsets(builder, known), _offsets(builder, operators)]
    builder.StartObject(3)
    builder.PrependUOffsetTRelativeSlot(_MODEL_CODES, vectors[0], 0)
    builder.PrependUOffsetTRelativeSlot(MODEL_GRAPHS, vectors[1], 0)
    builder.Finish(builder.EndObject())
    return bytes(builder.Output())


def _copy_code(builder: flatbuffers.Builder, data: bytearray, slot: int) -> int:
    table = Table(data, _target(data, slot))
    fields = [table.Offset(4 + 2 * i) for i in range(4)]
    small = table.Get(number_types.Int8Flags, table.Pos + fields[0]) if fields[0] else 0
    custom = table.String(table.Pos + fields[1]).decode() if fields[1] else None
    version = table.Get(number_types.Int32Flags, table.Pos + fields[2]) if fields[2] else 1
    builtin = table.Get(number_types.Int32Flags, table.Pos + fields[3]) if fields[3] else 0
    return _code(builder, custom, max(small, builtin), version)


def _code(builder: flatbuffers.Builder, custom: str | None, builtin: int, version: int) -> int:
    name = builder.CreateString(custom) if custom is not None else 0
    builder.StartObject(4)
    builder.PrependInt8Slot(0, min(builtin, 127), 0)
    if custom is not None:
        builder.PrependUOffsetTRelativeSlot(1, name, 0)
    builder.PrependInt32Slot(2, version, 1)
    builder.PrependInt32Slot(3, builtin, 0)
    return int(builder.EndObject())


def _indices(builder: flatbuffers.Builder, values: Sequence[int]) -> int:
    builder.StartVector(4, len(values), 4)
    for value in reversed(values):
        builder.PrependInt32(value)
    return int(builder.EndVector())


def _offsets(builder: flatbuffers.Builder, tables: Sequence[int]) -> int:
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return int(builder.EndVector())
