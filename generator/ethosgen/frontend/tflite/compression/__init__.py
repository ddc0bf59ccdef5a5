"""Expands networks that were compressed by TensorFlow Lite Micro's tool.

The tool puts a TFLM_DECODE before each operator that reads a compressed constant. Its inputs are
constant, and neither Vela nor a CPU kernel can use weights that are decoded at run time. So the
constants are replaced by their decoded values, and the operators are removed.
"""

from collections.abc import Mapping
from dataclasses import replace

from ethosgen.frontend.tflite.compression.decoding import DTYPES, decode
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import counted
from ethosgen.values.network import Compression, Graph, Network, Operator

DECODE = "TFLM_DECODE"
"""The custom operator's code."""

DECODED_DTYPES = tuple(sorted({dtype for dtypes in DTYPES.values() for dtype in dtypes}))

Values = Mapping[int, bytes]
"""Decoded bytes by tensor."""


def is_compressed(network: Network) -> bool:
    """Return whether a network has constants that an operator decodes."""
    return any(op.custom_code == DECODE for graph in network.graphs for op in graph.operators)


def expand(network: Network) -> Network:
    """Return a compressed network without compression, with a record of the change.

    InputError if a tensor is damaged or not constant, UnsupportedError for a compression that
    TensorFlow Lite Micro does not support.
    """
    decoded: list[Values] = []
    read: dict[bytes, int] = {}
    for graph in network.graphs:
        values: dict[int, bytes] = {}
        for operator in graph.operators:
            if operator.custom_code == DECODE:
                values |= _decoded(network, graph, operator, read)
        decoded.append(values)
    distinct = {data for values in decoded for data in values.values()}
    compression = Compression(
        tensors=len(distinct),
        bytes_before=sum(read.values()),
        bytes_after=sum(map(len, distinct)),
    )
    graphs = map(_expanded, network.graphs, decoded)
    return replace(network.edited(*graphs), source=network.source, compression=compression)


def _decoded(
    network: Network, graph: Graph, operator: Operator, read: dict[bytes, int]
) -> dict[int, bytes]:
    """Return the constants that an operator decodes; record its inputs, each constant once."""
    inputs, outputs = operator.inputs, operator.outputs
    if len(inputs) != 2 * len(outputs) or min(inputs, default=-1) < 0:
        raise InputError(
            f"'{network.name}' is damaged: operator {operator.index} ({DECODE}) has "
            f"{counted(len(inputs), 'input')} for {counted(len(outputs), 'output')}"
        )
    decoded = {}
    for encoded, ancillary, output in zip(inputs[::2], inputs[1::2], outputs, strict=True):
        sources = [graph.tensors[i].data for i in (encoded, ancillary)]
        if None in sources:
            name = graph.tensors[output].name
            raise InputError(
                f"'{name}' of '{network.name}' is decoded from data that is not constant"
            )
        pair = [data or b"" for data in sources]
        read |= {data: len(data) for data in pair}
        decoded[output] = decode(pair[0], pair[1], graph.tensors[output])
    return decoded


def _expanded(graph: Graph, values: Values) -> Graph:
    """Return a graph with constants for tensors, and without the operators that decoded them."""
    operators = [op for op in graph.operators if op.custom_code != DECODE]
    return replace(
        graph,
        tensors=tuple(replace(t, data=values.get(t.index, t.data) or None) for t in graph.tensors),
        operators=tuple(replace(op, index=index) for index, op in enumerate(operators)),
    )
