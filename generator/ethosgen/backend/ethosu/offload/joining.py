"""Let the partitions of a compiled network share their memories, as after one run of Vela.

ExecuTorch's delegates were each compiled alone: each has a blob of weights from address 0 of region
0, and nothing states how much of region 2, the fast scratch, they use. So the blobs are joined, the
streams rewritten, and the fast scratch gets the size that the streams reach.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.regions import shifted
from ethosgen.backend.ethosu.payload import CUSTOM_CODE, MEMORIES, Payload, driver_header
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.network import Network, Operator, Tensor

Reach = Callable[[bytes, int], int]
"""Returns the number of bytes of a region that a stream reaches."""

READ_ONLY_REGION, FAST_REGION = 0, 2
_COMMANDS, _READ_ONLY, _SCRATCH, _SCRATCH_FAST = range(MEMORIES)
_ALIGNMENT = 16


def with_one_blob(network: Network, streams: Sequence[Payload]) -> Network:
    """Return the network with one blob for all partitions; `streams` are theirs, in order.

    Equal blobs are stored once. A stream changes if its blob does not come first.
    """
    operators = npu_operators(network)
    blobs = dict.fromkeys(op.inputs[_READ_ONLY] for op in operators)
    if len(blobs) < 2:
        return network
    tensors = list(network.graph.tensors)
    starts: dict[bytes, int] = {}
    joined = b""
    for index in blobs:
        data = tensors[index].data or b""
        if data not in starts:
            starts[data] = len(joined)
            joined += data + bytes(-len(data) % _ALIGNMENT)
    first = next(iter(blobs))
    places = {index: starts[tensors[index].data or b""] for index in blobs}
    for operator, stream in zip(operators, streams, strict=True):
        place = places[operator.inputs[_READ_ONLY]]
        if place:
            isa = instruction_set(stream.config_word)
            moved = shifted(stream.commands, READ_ONLY_REGION, place, isa)
            header = driver_header(stream.config_word, stream.id_word, moved)
            commands = operator.inputs[_COMMANDS]
            tensors[commands] = _with_data(tensors[commands], header + moved)
    tensors[first] = _with_data(tensors[first], joined)
    return _with_memories(network, tensors, {_READ_ONLY: first})


def with_sized_fast_scratch(
    network: Network, streams: Sequence[bytes], reach: Reach | None
) -> Network:
    """Return the network with the size of a fast scratch that it uses but does not state.

    UnsupportedError if the size is unknown.
    """
    tensors = list(network.graph.tensors)
    for index in {op.inputs[_SCRATCH_FAST] for op in npu_operators(network)}:
        if tensors[index].bytes:
            continue
        if reach is None:
            raise UnsupportedError(
                f"'{network.name}' uses fast memory of unknown size; compile it with the memory "
                "mode Shared_Sram or Sram_Only"
            )
        size = max(reach(stream, FAST_REGION) for stream in streams)
        tensors[index] = replace(tensors[index], shape=(size,), dtype="uint8")
    return _with_memories(network, tensors, {})


def with_one_scratch(network: Network) -> Network:
    """Return the network with the scratch in place of the fast scratch, as Regor writes it."""
    tensors = list(network.graph.tensors)
    return _with_memories(network, tensors, {_SCRATCH_FAST: None})


def npu_operators(network: Network) -> list[Operator]:
    """Return the operators that represent command streams."""
    return [op for op in network.graph.operators if op.custom_code == CUSTOM_CODE]


def _with_data(tensor: Tensor, data: bytes) -> Tensor:
    return replace(tensor, shape=(len(data),), dtype="uint8", data=data)


def _with_memories(
    network: Network, tensors: Sequence[Tensor], memories: dict[int, int | None]
) -> Network:
    """Return the network with other tensors, and other memories of all partitions by place.

    None stands for the scratch of the partition.
    """
    operators = list(network.graph.operators)
    for operator in npu_operators(network):
        inputs = list(operator.inputs)
        for place, tensor in memories.items():
            inputs[place] = inputs[_SCRATCH] if tensor is None else tensor
        operators[operator.index] = replace(operator, inputs=tuple(inputs))
    graph = replace(network.graph, tensors=tuple(tensors), operators=tuple(operators))
    return network.edited(graph, *network.graphs[1:])
