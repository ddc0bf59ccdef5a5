"""Tell each command of a stream which of the network's operators it computes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.regions import operation_offsets
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.stream import stream_of
from ethosgen.values.plan import Partition


def with_sources(
    partitions: Sequence[Partition], residual: Residual, sources: Sequence[Mapping[int, int]]
) -> tuple[Partition, ...]:
    """Return partitions whose streams know the operators of their commands.

    `sources` has them by the offsets in Vela's streams; ours may have other commands between the
    same operations.
    """
    return tuple(
        _with_sources(partition, residual.commands(number), known)
        for number, (partition, known) in enumerate(zip(partitions, sources, strict=True))
    )


def _with_sources(partition: Partition, theirs: bytes, known: Mapping[int, int]) -> Partition:
    stream = stream_of(partition)
    isa = instruction_set(stream.config_word)
    offsets = zip(
        operation_offsets(theirs, isa), operation_offsets(stream.commands, isa), strict=True
    )
    sources = {ours: known[their] for their, ours in offsets if their in known}
    return replace(partition, payload=replace(stream, sources=sources))
