"""The delegates of ethosgen.executorch: networks to compile for own accelerators.

The data of such a delegate is a .tflite file. Its operators come into the program's graph, and its
compile specs say for which NPU and accelerators.
"""

from collections.abc import Sequence
from dataclasses import replace

from ethosgen.frontend import tflite
from ethosgen.frontend.pte.builder import GraphBuilder
from ethosgen.frontend.pte.program import Delegate
from ethosgen.values.choice import CHOICE, LoweringChoice
from ethosgen.values.errors import InputError, UnsupportedError
from ethosgen.values.grammar import counted
from ethosgen.values.network import ABSENT, Graph
from ethosgen.values.source import Source

BACKEND = "EthosgenBackend"
"""The name of the delegates' backend."""


def read_embedded(delegate: Delegate, name: str) -> Graph:
    """Return a delegate's network; InputError if it is damaged."""
    if not tflite.recognizes(delegate.data):
        raise InputError(f"'{name}' is damaged: a delegate of {BACKEND} holds no network")
    network = tflite.read(Source(tflite.FORMAT, name, delegate.data))
    if len(network.graphs) != 1:
        raise UnsupportedError(f"a delegate of '{name}' has control flow, which is not supported")
    return network.graph


def choice_of(delegates: Sequence[Delegate], name: str) -> LoweringChoice | None:
    """Return the delegates' NPU and accelerators, None without any; InputError if they differ."""
    texts = {d.specs.get(CHOICE, b"") for d in delegates if d.backend == BACKEND}
    if not texts:
        return None
    try:
        (text,) = texts
        return LoweringChoice.of_text(text.decode())
    except (ValueError, InputError):
        raise InputError(
            f"'{name}' does not say for which accelerators its delegates are, or says several "
            "things; lower it again with one EthosgenPartitioner"
        ) from None


def insert(builder: GraphBuilder, part: Graph, inputs: Sequence[int], where: str) -> list[int]:
    """Add a network's operators, which read tensors of the graph; return its outputs."""
    part_inputs = part.input_tensors()
    if len(part_inputs) != len(inputs):
        raise InputError(
            f"{where} has {counted(len(part_inputs), 'input')}, but is called with {len(inputs)}"
        )
    tensors = {ABSENT: ABSENT}
    for tensor, index in zip(part_inputs, inputs, strict=True):
        ours = builder.tensors[index]
        if (ours.shape, ours.dtype) != (tensor.shape, tensor.dtype):
            raise InputError(
                f"{where} reads {tensor.dtype} {list(tensor.shape)}, but is called with "
                f"{ours.dtype} {list(ours.shape)}"
            )
        if tensor.quantization is not None and ours.quantization is None:
            builder.tensors[index] = replace(ours, quantization=tensor.quantization)
        tensors[tensor.index] = index
    for tensor in part.tensors:
        if tensor.index not in tensors:
            is_output = tensor.index in part.outputs  # the program's outputs have such names
            name = f"delegate_{tensor.name}" if is_output else tensor.name
            tensors[tensor.index] = builder.copied(replace(tensor, name=name))
    for operator in part.operators:
        builder.operator(
            operator.code,
            [tensors[i] for i in operator.inputs],
            [tensors[i] for i in operator.outputs],
            operator.options,
            operator.custom_code,
        )
    return [tensors[i] for i in part.outputs]
