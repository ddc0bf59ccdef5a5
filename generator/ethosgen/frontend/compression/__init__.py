"""Networks that TensorFlow Lite Micro's tool compressed, as they were before.

The tool puts a TFLM_DECODE before each operator that reads a compressed constant. All it needs is
known when a network is read, and neither Vela nor a CPU's kernel can use weights that come at run
time. So the constants take the decoded values, and the operators go.
"""

from collections.abc import Mapping

from ethosgen.frontend.compression.decoding import DTYPES, decode
from ethosgen.frontend.compression.insertion import OFFSET, Front, Link, OldTable
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.model import Compressed, Graph, Model, Operator

DECODE = "TFLM_DECODE"
"""The custom operator's code."""

DECODED_DTYPES = tuple(sorted({dtype for dtypes in DTYPES.values() for dtype in dtypes}))

_MODEL = (4, OFFSET, OFFSET, OFFSET, OFFSET, OFFSET, OFFSET, OFFSET)
_GRAPHS, _BUFFERS = 2, 4
_GRAPH = (OFFSET, OFFSET, OFFSET, OFFSET, OFFSET, 4)
_TENSORS, _OPERATORS = 0, 3
_TENSOR = (OFFSET, 1, 4, OFFSET, OFFSET, 1, OFFSET, OFFSET, 1, OFFSET)
_TENSOR_BUFFER, _TENSOR_QUANTIZATION = 2, 4
"""Fields of the tables Model, SubGraph and Tensor: their sizes and places in the schema."""

Values = Mapping[int, bytes]
"""Decoded bytes by tensor."""


def is_compressed(model: Model) -> bool:
    """Return whether a network has constants that only an operator makes."""
    return any(op.custom_code == DECODE for graph in model.graphs for op in graph.operators)


def expand(model: Model) -> tuple[bytes, Compressed]:
    """Return the file of a compressed network without compression, and what that changed.

    InputError where a tensor is damaged or not constant, UnsupportedError for a compression that
    TensorFlow Lite Micro has no code for.
    """
    found: list[Values] = []
    read: dict[bytes, int] = {}
    for graph in model.graphs:
        values: dict[int, bytes] = {}
        for operator in graph.operators:
            if operator.custom_code == DECODE:
                values |= _decoded(model, graph, operator, read)
        found.append(values)
    distinct = {data for values in found for data in values.values()}
    compressed = Compressed(
        data=model.data,
        tensors=len(distinct),
        bytes_before=sum(read.values()),
        bytes_after=sum(map(len, distinct)),
    )
    return _rewritten(model, found), compressed


def _decoded(
    model: Model, graph: Graph, operator: Operator, read: dict[bytes, int]
) -> dict[int, bytes]:
    """Return the constants that an operator decodes; note its inputs, each constant once."""
    inputs, outputs = operator.inputs, operator.outputs
    if len(inputs) != 2 * len(outputs) or min(inputs, default=-1) < 0:
        raise InputError(
            f"'{model.name}' is damaged: operator {operator.index} ({DECODE}) has "
            f"{counted(len(inputs), 'input')} for {counted(len(outputs), 'output')}"
        )
    made = {}
    for encoded, ancillary, output in zip(inputs[::2], inputs[1::2], outputs, strict=True):
        sources = [graph.tensors[i].data for i in (encoded, ancillary)]
        if None in sources:
            name = graph.tensors[output].name
            raise InputError(f"'{name}' of '{model.name}' is decoded from what is not constant")
        pair = [data or b"" for data in sources]
        read |= {data: len(data) for data in pair}
        made[output] = decode(pair[0], pair[1], graph.tensors[output])
    return made


def _rewritten(model: Model, found: list[Values]) -> bytes:
    """Return the file with constants for these tensors, and without the operators that made them.

    Equal constants share a buffer.
    """
    data = model.data
    root = OldTable(data, int.from_bytes(data[:4], "little"))
    front = Front(data[4:8])
    top, slots = front.table(root.fields(_MODEL))
    buffers = root.elements(_BUFFERS)
    new = list(dict.fromkeys(data for values in found for data in values.values()))
    numbers = {content: len(buffers) + n for n, content in enumerate(new)}
    pool = front.near_buffers(data, buffers, len(new))
    front.connect(slots[_BUFFERS], pool)
    graphs = root.elements(_GRAPHS)
    vector = front.vector(graphs)
    front.connect(slots[_GRAPHS], vector)
    for n, (graph, values) in enumerate(zip(model.graphs, found, strict=True)):
        if values:
            table = OldTable(data, graphs[n].place)
            front.lead(vector, n, _graph(front, table, graph, values, numbers))
    for content, number in numbers.items():
        front.lead(pool, number, front.buffer(content))
    return front.before(data, top)


def _graph(
    front: Front, table: OldTable, graph: Graph, values: Values, numbers: Mapping[bytes, int]
) -> Link:
    made, slots = front.table(table.fields(_GRAPH))
    tensors = table.elements(_TENSORS)
    vector = front.vector(tensors)
    front.connect(slots[_TENSORS], vector)
    kept = [
        link
        for link, operator in zip(table.elements(_OPERATORS), graph.operators, strict=True)
        if operator.custom_code != DECODE
    ]
    front.connect(slots[_OPERATORS], front.vector(kept))
    for index, data in values.items():
        fields = OldTable(table.data, tensors[index].place).fields(_TENSOR)
        fields[_TENSOR_BUFFER] = numbers[data].to_bytes(4, "little")
        front.lead(vector, index, front.table(fields)[0])
    for index in _encoded(graph):
        fields = OldTable(table.data, tensors[index].place).fields(_TENSOR)
        fields.pop(_TENSOR_QUANTIZATION, None)
        front.lead(vector, index, front.table(fields)[0])
    return made


def _encoded(graph: Graph) -> set[int]:
    """Return the constants that are encoded; the tool leaves them the scales of what they were."""
    decode = (op for op in graph.operators if op.custom_code == DECODE)
    return {i for op in decode for i in op.inputs}
