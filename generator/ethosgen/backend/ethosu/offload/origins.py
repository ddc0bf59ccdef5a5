"""Assign to each command of a stream the network's operator that it computes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.regions import operation_offsets
from ethosgen.backend.ethosu.offload.residual import Residual
from ethosgen.backend.ethosu.offload.vela import Row
from ethosgen.backend.ethosu.stream import Stream, stream_of
from ethosgen.values.plan import Partition

Sources = Mapping[int, int]
"""The network's operators by the offsets of commands."""


def read_sources(
    tables: Mapping[str, Sequence[Row]], count: int, source: Callable[[Row], int | None]
) -> list[Sources]:
    """Return the sources of each of Vela's streams, from Regor's tables.

    `source` returns the operator of a row, None if it has none.
    """
    derived = {row["id"]: source(row) for row in tables.get("optimised", ())}
    operators: list[dict[int, int]] = [{} for _ in range(count)]
    for row in tables.get("queue", ()):
        operator, stream = derived.get(row["optimised_id"]), int(row["cmdstream_id"]) - 1
        if operator is not None and 0 <= stream < count:
            operators[stream][int(row["offset"])] = operator
    return list(operators)


def with_sources(
    partitions: Sequence[Partition], residual: Residual, sources: Sequence[Sources]
) -> tuple[Partition, ...]:
    """Return partitions whose streams record their commands' operators.

    `sources` are those of Vela's streams.
    """
    return tuple(
        replace(partition, payload=sourced(stream_of(partition), residual.commands(number), known))
        for number, (partition, known) in enumerate(zip(partitions, sources, strict=True))
    )


def sourced(stream: Stream, theirs: bytes, known: Sources) -> Stream:
    """Return a stream that records its commands' operators, given those of Vela's stream.

    Ours may have other commands between the same operations.
    """
    isa = instruction_set(stream.config_word)
    offsets = zip(
        operation_offsets(theirs, isa), operation_offsets(stream.commands, isa), strict=True
    )
    return replace(stream, sources={ours: known[at] for at, ours in offsets if at in known})
