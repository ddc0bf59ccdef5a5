"""Plan a network that Vela has already compiled: its file is used unchanged.

All versions since 3.0 write the same operator `ethos-u` and the same metadata (see residual.py),
with two differences. Older versions, with the compiler core in Python, list a separate fast scratch
even if it is the scratch, because TFLite Micro puts both at the start of the arena. With
--separate-io-regions (5.0 and later) the metadata has offsets in regions 3 and 4, from 0 for each
partition, instead of offsets in scratch.
"""

import logging
from collections.abc import Mapping, Sequence

from ethosgen.backend.ethosu.accelerator import ACCELERATORS, EthosU
from ethosgen.backend.ethosu.isa_u85 import instruction_set
from ethosgen.backend.ethosu.offload.chains import overwrites_table
from ethosgen.backend.ethosu.offload.joining import (
    FAST_REGION,
    Reach,
    with_one_blob,
    with_one_scratch,
    with_sized_fast_scratch,
)
from ethosgen.backend.ethosu.offload.reasons import why_it_ends
from ethosgen.backend.ethosu.offload.regions import (
    INPUT_REGION,
    OUTPUT_REGION,
    Extent,
    accesses,
    operations,
)
from ethosgen.backend.ethosu.offload.residual import Residual, placement
from ethosgen.backend.ethosu.payload import CUSTOM_CODE, MEMORIES, Payload, compiled_streams
from ethosgen.backend.ethosu.stream import VELA, way_out
from ethosgen.frontend.integrity import check_dataflow
from ethosgen.values.allocation import ResidualIndex
from ethosgen.values.errors import UnsupportedError
from ethosgen.values.multiples import rounded_up
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.plan import CpuOperator, IoStyle, Plan

_ALIGNMENT = 16
"""Regor's NPUTensorAlignment of tensors in regions 3 and 4."""

_log = logging.getLogger(__name__)

_WRONG_TABLE = (
    "the outputs of '%s' can be wrong: a chain of operations may use another table than it should "
    "(erratum chained-tables); compile the original with ethosgen, or with vela --disable-chaining"
)

_LEFT = "it was left on the CPU when the file was compiled"

_CONFIG_MASK = 0xF000_000F
"""The bits of the product and the MACs in a CONFIG word, which determine the NPU."""


def compiled_for(network: Network) -> EthosU:
    """Return the NPU of a compiled network, from the headers of its streams.

    UnsupportedError for an unknown NPU or a file for several NPUs.
    """
    words = {payload.config_word for payload in compiled_streams(network)}
    if len(words) != 1:
        raise UnsupportedError(f"'{network.name}' is compiled for several NPUs at once")
    return accelerator_for(words.pop(), network.name)


def accelerator_for(word: int, name: str) -> EthosU:
    """Return the NPU of a CONFIG word; UnsupportedError if it is unknown."""
    for accelerator in ACCELERATORS.values():
        if accelerator.config_word & _CONFIG_MASK == word & _CONFIG_MASK:
            return accelerator
    raise UnsupportedError(
        f"'{name}' is compiled for an unknown NPU (product {word >> 28}, {1 << (word & 0xF)} "
        f"MACs); compile its original for one of: {', '.join(ACCELERATORS)}"
    )


def require_npu(wanted: EthosU, npu: EthosU, name: str) -> None:
    """Raise UnsupportedError unless `name` is compiled for the wanted NPU."""
    if npu is not wanted:
        raise UnsupportedError(
            f"'{name}' is compiled for {npu.name}, not for {wanted.name}; omit --npu or pass "
            f"--npu {npu.name}, or compile the original for {wanted.name}"
        )


def plan_compiled(
    network: Network, accelerator: EthosU, io: IoStyle, reach: Reach | None = None
) -> Plan:
    """Return the plan of a compiled network.

    `reach` returns the bytes of a region that a stream uses. A stream with the erratum
    chained-tables is logged as a warning.

    Raises UnsupportedError if it is compiled for another NPU or does not support the I/O style,
    InputError if the file is damaged.
    """
    check_dataflow(network, {CUSTOM_CODE: MEMORIES})
    require_npu(accelerator, compiled_for(network), network.name)
    streams = list(compiled_streams(network))
    isa = instruction_set(accelerator.config_word)
    if any(overwrites_table(stream.commands, isa) for stream in streams):
        _log.warning(_WRONG_TABLE, network.name)
    reached = [accesses(stream.commands, isa) for stream in streams]
    spans = _spans(network, reached) if _is_separate(reached) else None
    if io is IoStyle.CALLER and spans is None and not _are_ends_apart(network):
        raise UnsupportedError(
            f"'{network.name}' is compiled with inputs and outputs in the arena; use --io arena, "
            "or compile the original with vela --separate-io-regions --cop-format COP2"
        )
    residual = Residual(_with_shared_memories(network, streams, reached, reach), network, spans)
    on_cpu = _cpu_operators(residual.graph)
    endings = [why_it_ends(residual.graph, index, on_cpu) for index in residual.npu_operators]
    places = [residual.graph.tensors[i].bytes + at for i, at in residual.offsets.items()]
    partitions = residual.partitions([()] * len(endings), endings)
    return Plan(
        network=network,
        accelerator=accelerator,
        io=io,
        residual=residual.graph,
        partitions=partitions,
        cpu_operators=on_cpu,
        npu_operators=None,
        npu_operations=sum(operations(stream.commands, isa) for stream in streams),
        blobs=residual.blobs(partitions),
        scratches=residual.scratches,
        offsets=residual.offsets,
        lives=residual.lives,
        sram_bytes=max([residual.scratch_bytes, *places]),
        npu_cycles=None,
        reach=residual.reach,
        compiler=VELA,
        way_out=way_out(partitions),
    )


def _are_ends_apart(network: Network) -> bool:
    """Return whether no partition itself reads the network's inputs or writes its outputs."""
    ends = {*network.graph.inputs, *network.graph.outputs}
    return not any(
        ends.intersection((*op.inputs, *op.outputs)) for op in _npu_operators(network.graph)
    )


def _npu_operators(graph: Graph) -> list[Operator]:
    return [op for op in graph.operators if op.custom_code == CUSTOM_CODE]


def _is_separate(reached: Sequence[frozenset[tuple[int, int]]]) -> bool:
    """Return whether inputs and outputs have separate regions (Regor's local addressing)."""
    return any(
        region in (INPUT_REGION, OUTPUT_REGION) for regions in reached for region, _ in regions
    )


def _with_shared_memories(
    network: Network,
    streams: Sequence[Payload],
    reached: Sequence[frozenset[tuple[int, int]]],
    reach: Reach | None,
) -> Network:
    """Let all partitions share one blob and one scratch, and one fast scratch if any uses it."""
    joined = with_one_blob(network, streams)
    if not any(region == FAST_REGION for regions in reached for region, _ in regions):
        return with_one_scratch(joined)
    return with_sized_fast_scratch(joined, [stream.commands for stream in streams], reach)


def _cpu_operators(graph: Graph) -> tuple[CpuOperator, ...]:
    return tuple(
        CpuOperator(ResidualIndex(op.index), op.title, graph.tensors[op.outputs[0]].name, _LEFT)
        for op in graph.operators
        if op.custom_code != CUSTOM_CODE and op.outputs
    )


def _spans(network: Network, reached: Sequence[frozenset[tuple[int, int]]]) -> list[list[Extent]]:
    """Return the extents of each partition's tensors in regions 3 and 4.

    The metadata lists only one offset for a tensor, even if partitions use it at different ones.
    Regor lays tensors out in order. The layout (metadata or order) that matches the streams is
    used; UnsupportedError if neither does.
    """
    graph = network.graph
    places = dict(enumerate(placement(network)))
    extents = []
    for operator, addresses in zip(_npu_operators(graph), reached, strict=True):
        owners = tuple(dict.fromkeys((*operator.inputs[MEMORIES:], *operator.outputs)))
        regions = {index: _region(graph, index) for index in owners}
        layouts = (_layout(graph, regions, places), _layout(graph, regions, None))
        fitting = [spans for spans in layouts if _agree(spans, addresses)]
        if not fitting:
            raise UnsupportedError(
                f"'{network.name}' does not define the offsets of the tensors of operator "
                f"{operator.index}; compile the original without --separate-io-regions"
            )
        extents.append(fitting[0])
    return extents


def _region(graph: Graph, tensor: int) -> int:
    """Return a tensor's region, which is 4 for an output of any partition, else 3."""
    written = any(tensor in operator.outputs for operator in _npu_operators(graph))
    return OUTPUT_REGION if written else INPUT_REGION


def _layout(
    graph: Graph, regions: Mapping[int, int], places: Mapping[int, int] | None
) -> list[Extent]:
    """Lay tensors out at `places`, or in sequence."""
    ends = dict.fromkeys(regions.values(), 0)
    spans = []
    for index, region in regions.items():
        tensor = graph.tensors[index]
        start = ends[region] if places is None else places[index]
        spans.append(Extent(tensor.name, region, start, tensor.bytes))
        ends[region] = rounded_up(start + tensor.bytes, _ALIGNMENT)
    return spans


def _agree(spans: Sequence[Extent], addresses: frozenset[tuple[int, int]]) -> bool:
    """Return whether a stream accesses each tensor at its start, and no other bytes."""
    own = {(region, at) for region, at in addresses if region in (INPUT_REGION, OUTPUT_REGION)}
    starts = {(span.region, span.start) for span in spans}
    inside = all(
        any(s.region == region and s.start <= at < s.start + s.size for s in spans)
        for region, at in own
    )
    return starts <= own and inside and len(starts) == len(spans)
