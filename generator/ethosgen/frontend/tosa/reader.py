"""Reads .tosa files: TOSA 1.0, both profiles, with int16, int4, int48 and float16.

A file of 1.1, which is a draft, is read if it has only 1.0's features: the attributes of operators
are the same.

Nothing in a file is trusted: every offset is checked before it is followed, and `inference` checks
that each operator's attributes, types and shapes fit each other. The graph has the operators of the
file, one to one, without those that only name or move a constant, and in an order in which each
one's inputs exist before it runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ethosgen.frontend.flatbuffer import (
    MAX_TENSOR_BYTES,
    Fields,
    refusing_damage,
)
from ethosgen.frontend.integrity import check
from ethosgen.frontend.tosa.constants import copy_constants, fold_moves
from ethosgen.frontend.tosa.halves import HALF, round_inputs, widened
from ethosgen.frontend.tosa.identifier import FORMAT, recognizes
from ethosgen.frontend.tosa.inference import require_fit
from ethosgen.frontend.tosa.misfit import MisfitError
from ethosgen.frontend.tosa.variables import TosaVariable, with_initial_values, with_variables
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.multiples import pieces
from ethosgen.values.naming import unique_name
from ethosgen.values.network import Graph, Network, Operator, Tensor
from ethosgen.values.source import Source
from ethosgen.values.tosa import (
    CONST,
    CONST_SHAPE,
    CONTROL,
    DTYPES,
    EXTENSIONS,
    IDENTITY,
    NEWEST,
    TOSA_CODES,
    TOSA_OPS,
    VARIABLE,
    VARIABLE_READ,
    VARIABLE_WRITE,
    VERSION,
    Attribute,
    dtype_of,
)

MAX_RANK = 6
"""TOSA's level 8K; operators that move data have no other limit."""

_MAIN = "main"
_OTHERS = {CONST, CONST_SHAPE, VARIABLE, VARIABLE_READ, VARIABLE_WRITE, *CONTROL}
"""The numbers of operators that our graphs have under TFLite's names, or not at all."""
_NO_INT4 = -8
"""TOSA's int4 is symmetric."""
_FLOATS = ("bfloat16", "float8e4m3", "float8e5m2")
"""Types of extensions that we lack."""

_GRAPH = {"version": 0, "regions": 1}
_BLOCK = {"name": 0, "operators": 1, "tensors": 2, "inputs": 3, "outputs": 4, "shapes": 5}
_TENSOR = {"name": 0, "shape": 1, "type": 2, "data": 3, "variable": 4, "is_unranked": 5} | {
    "variable_name": 6
}
_SHAPE = {"name": 0, "rank": 1, "data": 2}
_OPERATOR = {"op": 0, "attribute_type": 1, "attribute": 2, "inputs": 3, "outputs": 4}
"""Slots of the schema's tables, as far as they are read."""


def parse_network(data: bytes, name: str) -> Network:
    """Parse a .tosa file's bytes; `name` is for messages.

    Raises InputError if the bytes are not an intact .tosa file, and UnsupportedError for another
    version, an extension that we lack, or dynamic shapes.
    """
    if not recognizes(data):
        raise InputError(f"'{name}' is not a .tosa file (the identifier TOSA is missing)")
    with refusing_damage(name, "convert or copy it again"):
        graphs = _graphs(data, name)
    _require_subgraphs(graphs, name)
    network = Network(name, graphs, source=Source(FORMAT, name, data))
    check(network)
    return network


@dataclass(frozen=True)
class _Raw:
    """An operator before its tensors are known by index."""

    number: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Fields | None


def _graphs(data: bytes, name: str) -> tuple[Graph, ...]:
    """Return the graph of each region; the first is the entry."""
    root = Fields.root(data)
    _check_version(root, name)
    regions = root.tables(_GRAPH["regions"])
    numbers = {region.text(0) or "": number for number, region in enumerate(regions)}
    blocks = [region.tables(1) for region in regions]
    if not blocks or not all(blocks):
        raise InputError(f"'{name}' is damaged: it has no block of operators")
    decoders = [_TosaDecoder(data, name, numbers) for _ in blocks]
    graphs = [decoder.graph(block[0]) for decoder, block in zip(decoders, blocks, strict=True)]
    variables = [variable for decoder in decoders for variable in decoder.variables.values()]
    return with_initial_values(graphs, variables)


def version_of(root: Fields) -> tuple[int, ...]:
    """Return a file's version of TOSA: major, minor and patch; () if it states none."""
    version = root.table(_GRAPH["version"])
    return tuple(version.number(slot, "int32", -1) for slot in range(3)) if version else ()


def _check_version(root: Fields, name: str) -> None:
    version = version_of(root)
    if not version:
        raise InputError(f"'{name}' is damaged: it has no version")
    major, minor, patch = version
    if not VERSION[:2] <= (major, minor) <= NEWEST:
        age = "older" if (major, minor) < VERSION[:2] else "newer"
        raise UnsupportedError(
            f"'{name}' is TOSA {major}.{minor}.{patch}, which is {age} than the "
            f"{VERSION[0]}.{VERSION[1]} that ethosgen reads; export it for TOSA 1.0"
        )


def _require_subgraphs(graphs: tuple[Graph, ...], name: str) -> None:
    """Require that each COND_IF and WHILE_LOOP fits the graphs that it runs, without recursion."""
    for number, graph in enumerate(graphs):
        for op in graph.operators:
            if op.code not in _SUBGRAPHS:
                continue
            inputs, outputs = ([graph.tensors[i] for i in ends] for ends in (op.inputs, op.outputs))
            for inner, ends in _SUBGRAPHS[op.code](op, inputs, outputs):
                theirs = graphs[inner].input_tensors(), graphs[inner].output_tensors()
                if not number < inner or not all(map(_alike, theirs, ends)):
                    raise InputError(
                        f"'{name}' is not valid TOSA: {op.code} that makes "
                        f"'{outputs[0].name if outputs else 'nothing'}' does not fit the graph "
                        f"'{graphs[inner].name}' that it runs; export the network again"
                    )


def _alike(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> bool:
    """Return whether tensors have the same types and shapes; a scalar is a vector of one."""
    mine, other = (
        [(tensor.shape or (1,), tensor.dtype, tensor.is_half) for tensor in ends]
        for ends in (ours, theirs)
    )
    return mine == other


_MISFIT = (Tensor(0, "", (), ""),)
"""Fits the inputs and outputs of no graph."""
_Inner = Iterator[tuple[int, tuple[Sequence[Tensor], Sequence[Tensor]]]]


def _of_if(op: Operator, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> _Inner:
    """Yield the graphs of a COND_IF, each with the inputs and outputs that it must have."""
    is_truth = bool(inputs) and inputs[0].dtype == "bool" and inputs[0].elements == 1
    for number in op.options.values():
        yield number, (inputs[1:] if is_truth else _MISFIT, outputs)


def _of_while(op: Operator, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> _Inner:
    """Yield the graphs of a WHILE_LOOP, likewise."""
    truth = [Tensor(0, "", (), "bool")]
    condition, body = op.options.values()
    yield condition, (inputs, truth)
    yield body, (inputs, outputs if _alike(inputs, outputs) else _MISFIT)


_ACCESSES = ("READ_VARIABLE", "ASSIGN_VARIABLE")
_SUBGRAPHS: Mapping[str, Callable[[Operator, Sequence[Tensor], Sequence[Tensor]], _Inner]] = {
    "IF": _of_if,
    "WHILE": _of_while,
}


class _TosaDecoder:
    """Decodes one region; its methods raise InputError or any of DAMAGE."""

    def __init__(self, data: bytes, name: str, numbers: Mapping[str, int]) -> None:
        self.data = data
        self.name = name
        self.numbers = numbers
        self.tensors: list[Tensor] = []
        self.index: dict[str, int] = {}
        self.shapes: set[int] = set()
        self.variables: dict[int, TosaVariable] = {}

    def bad(self, what: str) -> InputError:
        return InputError(f"'{self.name}' is damaged: {what}")

    def graph(self, block: Fields) -> Graph:
        taken: set[str] = set()
        raw = [self.raw(table) for table in block.tables(_BLOCK["operators"])]
        fixed = {output for op in raw if op.number in (CONST, CONST_SHAPE) for output in op.outputs}
        for table in block.tables(_BLOCK["tensors"]):
            self.add(self.tensor(table, taken, fixed), table.text(_TENSOR["name"]))
        for table in block.tables(_BLOCK["shapes"]):
            self.add(self.shape(table, taken), table.text(_SHAPE["name"]))
        unnamed = [op for op in raw if op.number not in (CONST, CONST_SHAPE, VARIABLE)]
        operators = self.in_order([self.operator(op) for op in unnamed])
        inputs = self.places(tuple(block.texts(_BLOCK["inputs"])))
        outputs = self.places(tuple(block.texts(_BLOCK["outputs"])))
        for index in (*inputs, *outputs):
            self.require_end(self.tensors[index])
        name = block.text(_BLOCK["name"]) or _MAIN
        operators, tensors = fold_moves(operators, self.tensors, outputs)
        operators, tensors = copy_constants(operators, tensors, outputs)
        graph = round_inputs(Graph(name, tensors, operators, inputs, outputs))
        return with_variables(graph, self.variables)

    def require_end(self, tensor: Tensor) -> None:
        if tensor.index in self.shapes:
            raise UnsupportedError(
                f"'{tensor.name}' of '{self.name}' is a shape, which no network can have as input "
                "or output; export the network again without it"
            )

    def add(self, tensor: Tensor, name: str | None) -> None:
        if (name or "") in self.index:
            raise self.bad(f"two tensors have the name '{name}'")
        self.index[name or ""] = tensor.index
        self.tensors.append(tensor)

    def places(self, names: tuple[str, ...]) -> tuple[int, ...]:
        for name in names:
            if name not in self.index:
                raise self.bad(f"it refers to the tensor '{name}', which it does not have")
        return tuple(self.index[name] for name in names)

    # ---- tensors -------------------------------------------------------------------------------

    def tensor(self, table: Fields, taken: set[str], fixed: set[str]) -> Tensor:
        label = table.text(_TENSOR["name"]) or ""
        name = unique_name(label, len(self.tensors), taken)
        kind = self.kind(table.number(_TENSOR["type"], "uint32", 0), name)
        shape = table.numbers(_TENSOR["shape"], "int32")
        is_open = table.number(_TENSOR["is_unranked"], "bool", False) or any(s < 1 for s in shape)
        if is_open or len(shape) > MAX_RANK:
            raise UnsupportedError(
                f"tensor '{name}' of '{self.name}' has "
                + (
                    f"{counted(len(shape), 'dimension')}, more than {MAX_RANK}"
                    if not is_open
                    else f"a dynamic shape {['?' if s < 1 else s for s in shape]}"
                )
                + "; convert the network again with fixed shapes"
            )
        is_variable = table.number(_TENSOR["variable"], "bool", False)
        data = table.data(_TENSOR["data"]) if label in fixed or is_variable else None
        if label in fixed and data is None:
            raise self.bad(f"constant '{name}' has no data")
        tensor = self.add_tensor(name, shape, kind, data or None if is_variable else data)
        if is_variable:
            known = table.text(_TENSOR["variable_name"]) or label
            self.variables[tensor.index] = TosaVariable(known, tensor)
            tensor = replace(tensor, data=None)
        return tensor

    def kind(self, number: int, name: str) -> str:
        kind = DTYPES[number] if number < len(DTYPES) else f"type {number}"
        if kind in _FLOATS:
            raise UnsupportedError(
                f"tensor '{name}' of '{self.name}' is {kind}, which ethosgen does not have; export "
                "the network in float32 or float16, or quantize it to int8 or int16"
            )
        if not dtype_of(kind):
            raise UnsupportedError(
                f"tensor '{name}' of '{self.name}' has the type {kind}, which TOSA 1.0 does not "
                "have; export the network again"
            )
        return kind

    def add_tensor(
        self, name: str, shape: tuple[int, ...], kind: str, data: bytes | None
    ) -> Tensor:
        tensor = Tensor(
            *(len(self.tensors), name, shape, dtype_of(kind)),
            is_packed=kind == "int4",
            is_half=kind == HALF,
        )
        if tensor.bytes > MAX_TENSOR_BYTES:
            raise InputError(
                f"tensor '{name}' of '{self.name}' takes {tensor.bytes >> 20} MiB, but the limit "
                f"is {MAX_TENSOR_BYTES >> 20}; is the file damaged?"
            )
        return tensor if data is None else replace(tensor, data=self.unpacked(tensor, kind, data))

    def unpacked(self, tensor: Tensor, kind: str, data: bytes) -> bytes:
        """Return a constant's bytes in our tensors' form."""
        count = tensor.elements
        sizes = {"int4": pieces(count, 2), "int48": 6 * count, HALF: 2 * count}
        size = sizes.get(kind, tensor.bytes)
        if len(data) < size or any(data[size:]):  # ExecuTorch has a zero point for each channel
            raise self.bad(
                f"constant '{tensor.name}' has {counted(len(data), 'byte')} instead of {size}"
            )
        data = data[:size]
        if kind == "int4":
            pairs = np.frombuffer(data, np.int8)
            halves = np.stack([np.left_shift(pairs, 4) >> 4, pairs >> 4], axis=1)
            values = halves.reshape(-1)[:count].astype(np.int8)
            if (values == _NO_INT4).any():
                raise self.bad(f"constant '{tensor.name}' is int4 and has the value {_NO_INT4}")
            return values.tobytes()
        if kind == HALF:
            return widened(data)
        if kind == "int48":
            six = np.frombuffer(data, np.uint8).reshape(count, 6)
            sign = np.where(six[:, 5:] >> 7, 0xFF, 0).astype(np.uint8)
            return np.concatenate([six, sign, sign], axis=1).tobytes()
        if kind == "bool" and any(byte > 1 for byte in data):
            raise self.bad(f"constant '{tensor.name}' is bool and has other values than 0 and 1")
        return data

    def shape(self, table: Fields, taken: set[str]) -> Tensor:
        name = unique_name(table.text(_SHAPE["name"]) or "", len(self.tensors), taken)
        rank = table.number(_SHAPE["rank"], "uint32", 0)
        data = table.data(_SHAPE["data"]) or b""
        if rank > len(self.data) or (rank and not data):
            raise self.bad(f"shape '{name}' has no values")
        self.shapes.add(len(self.tensors))
        return self.add_tensor(name, (rank,), "shape", data)

    # ---- operators -----------------------------------------------------------------------------

    def raw(self, table: Fields) -> _Raw:
        number = table.number(_OPERATOR["op"], "uint32", 0)
        kind = table.number(_OPERATOR["attribute_type"], "uint8", 0)
        if number == IDENTITY and kind in (VARIABLE_READ, VARIABLE_WRITE):
            number = kind  # so tosa-opt 2026.8 writes both
        if number in EXTENSIONS:
            raise UnsupportedError(
                f"'{self.name}' uses {EXTENSIONS[number]}, which ethosgen does not support in "
                "TOSA; export the network without it"
            )
        if number not in TOSA_CODES and number not in _OTHERS:
            raise UnsupportedError(
                f"'{self.name}' uses operator {number}, which TOSA 1.0 does not have; export it "
                "for TOSA 1.0"
            )
        has_table = kind == number
        return _Raw(
            number,
            tuple(table.texts(_OPERATOR["inputs"])),
            tuple(table.texts(_OPERATOR["outputs"])),
            table.table(_OPERATOR["attribute"]) if has_table else None,
        )

    def operator(self, raw: _Raw) -> Operator:
        if raw.number in CONTROL:
            return self.control(raw)
        if raw.number in (VARIABLE_READ, VARIABLE_WRITE):
            return self.access(raw)
        op = TOSA_OPS[TOSA_CODES[raw.number]]
        if raw.attributes is None and op.attributes:
            raise self.bad(f"{op.name} has no attributes")
        fields = raw.attributes
        values = {
            attribute.name: self.attribute(op.name, attribute, slot, fields)
            for slot, attribute in enumerate(op.attributes)
        }
        return Operator(
            0, op.code, self.places(raw.inputs), self.places(raw.outputs), options=values
        )

    def control(self, raw: _Raw) -> Operator:
        name, code, options = CONTROL[raw.number]
        values = {}
        for slot, option in enumerate(options):
            graph = raw.attributes.text(slot) if raw.attributes else None
            if graph is None or graph not in self.numbers:
                raise self.bad(f"{name} runs a graph '{graph}', which it does not have")
            values[option] = self.numbers[graph]
        return Operator(0, code, self.places(raw.inputs), self.places(raw.outputs), options=values)

    def access(self, raw: _Raw) -> Operator:
        """Return an operator that reads or writes a variable."""
        is_read = raw.number == VARIABLE_READ
        ends = self.places(raw.inputs), self.places(raw.outputs)
        (source, target) = ends if all(len(end) == 1 for end in ends) else ((-1,), (-1,))
        variable = self.variables.get((source if is_read else target)[0])
        other = self.tensors[(target if is_read else source)[0]]
        if variable is None or not _alike([variable.value], [other]):
            raise InputError(
                f"'{self.name}' is not valid TOSA: an operator "
                f"{'reads' if is_read else 'writes'} '{other.name}' of another type or shape than "
                "its variable, or there is no variable; export the network again"
            )
        handle = variable.value.index
        if is_read:
            return Operator(0, "READ_VARIABLE", (handle,), target)
        return Operator(0, "ASSIGN_VARIABLE", (handle, *source), ())

    def attribute(self, name: str, attribute: Attribute, slot: int, fields: Fields | None) -> Any:
        if fields is None:
            return attribute.default
        if attribute.is_vector:
            return fields.numbers(slot, attribute.wire)
        value = fields.number(slot, attribute.wire, attribute.wire != "bool" and 0)
        if not attribute.names:
            return value
        if value >= len(attribute.names):
            raise self.bad(f"{name} has {attribute.name} {value}")
        return attribute.names[value]

    def in_order(self, operators: list[Operator]) -> tuple[Operator, ...]:
        """Return the operators, checked, each after those that make its inputs."""
        makers: dict[int, int] = {}
        for position, op in enumerate(operators):
            for index in op.outputs:
                if makers.setdefault(index, position) != position:
                    raise self.bad(f"two operators write '{self.tensors[index].name}'")
        order = _sorted(operators, makers)
        if len(order) < len(operators):
            raise self.bad("its operators wait for each other in a circle")
        if self.variables and order != operators:
            raise self.bad("its operators, which use variables, are not in order")
        for op in order:
            self.require_fit(op)
        return tuple(replace(op, index=i) for i, op in enumerate(order))

    def require_fit(self, op: Operator) -> None:
        if op.code in _ACCESSES:
            return
        for index in (*op.inputs, *op.outputs):
            if index in self.variables:
                raise self.bad(f"{op.code} uses the variable '{self.tensors[index].name}'")
        if op.code in _SUBGRAPHS:
            return
        try:
            require_fit(op, self.tensors)
        except MisfitError as error:
            output = self.tensors[op.outputs[0]].name if op.outputs else "nothing"
            raise InputError(
                f"'{self.name}' is not valid TOSA: {TOSA_OPS[op.code].name} that makes '{output}' "
                f"{error}; export the network again"
            ) from None


def _sorted(operators: list[Operator], makers: Mapping[int, int]) -> list[Operator]:
    """Return the operators by dependency, else in the file's order; fewer if there is a cycle."""
    done: set[int] = set()
    order: list[Operator] = []
    for start in range(len(operators)):
        stack = [start]
        while stack:
            position = stack[-1]
            if position in done:
                stack.pop()
                continue
            needed = [makers[i] for i in operators[position].inputs if i in makers]
            missing = [name for name in needed if name not in done]
            if not missing:
                done.add(position)
                order.append(operators[position])
                stack.pop()
            elif len(stack) > len(operators):
                return order
            else:
                stack.append(missing[0])
    return order
