"""A partition of Ethos-U: its command stream, the call that runs it, and its data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ethosgen.backend.ethosu.memory_system import AREA_PORTS
from ethosgen.backend.ethosu.payload import driver_header
from ethosgen.values.call import Address, Argument, Call, Function
from ethosgen.values.plan import Blob, Partition, Plan, Scratch

VELA = "Vela"

BASES = 8
"""Base pointers of the NPU: BASEP0 to BASEP7."""
OWN_BASES = 5
"""Number of a partition's tensors that can have their own base pointer: BASEP3 to BASEP7."""
FAST_BASE = 2
"""The base pointer to fast scratch, in Vela's order of memories."""

INVOKE = Function(
    "{name}_npu_invoke",
    ("int32_t stream", *(f"const void *base{i}" for i in range(BASES))),
    "What the network needs: run a command stream with BASEP0 to BASEP7, wait, and return\n"
    "   0 or a status.",
)


WEIGHTS = "weights"
"""The blob that all partitions share: weights, scales and tables."""


class RegionKind(Enum):
    """The target of a region's base pointer, if it is not a tensor."""

    READ_ONLY = "read_only"
    SCRATCH = "scratch"
    SCRATCH_FAST = "scratch_fast"


Base = RegionKind | int
"""A base pointer's target: a memory, or the index of a tensor in the residual graph."""


@dataclass(frozen=True)
class Stream:
    """The payload of a partition: bare register commands, without any driver header.

    `bases[i]` is the target of BASEPi. `sources` maps the offset of a command to the network's
    operator that it computes, if Vela reports it.
    """

    commands: bytes = field(repr=False)
    id_word: int
    config_word: int
    bases: tuple[Base, ...]
    sources: Mapping[int, int] = field(default_factory=dict, repr=False, compare=False)


def stream_of(partition: Partition) -> Stream:
    """Return a partition's command stream."""
    if not isinstance(partition.payload, Stream):
        raise TypeError(f"{partition.name} has no command stream of Ethos-U")
    return partition.payload


def ports_of(plan: Plan, partition: Partition) -> tuple[int, ...] | None:
    """Return the AXI port that Vela assumed for each region, None if the memory mode is unknown."""
    if not plan.memory_mode:
        return None
    ports = AREA_PORTS[plan.memory_mode]
    special = {RegionKind.READ_ONLY: ports.constants, RegionKind.SCRATCH_FAST: 0}
    used = [
        special.get(base, ports.arena) if isinstance(base, RegionKind) else ports.arena
        for base in stream_of(partition).bases
    ]
    return (*used, *[0] * (BASES - len(used)))


def invoke(number: int, bases: tuple[Base, ...]) -> Call:
    """Return the call that runs command stream `number`."""
    arguments: list[Argument] = [_address(base) for base in bases]
    return Call(INVOKE, (number, *arguments, *[None] * (BASES - len(bases))))


def make_blobs(data: bytes, partitions: tuple[Partition, ...]) -> tuple[Blob, ...]:
    """Return the data that all partitions share, and each one's commands."""
    read_only = Blob(
        WEIGHTS,
        data,
        comment="Data that the NPU reads: weights, scales, tables, as Vela packed them.",
        parameter=RegionKind.READ_ONLY.value,
    )
    return (read_only, *(_commands(number, p) for number, p in enumerate(partitions)))


def make_scratches(size: int, fast_size: int) -> tuple[Scratch, ...]:
    """Return the scratch that all partitions share, and the fast scratch."""
    fast = Scratch(RegionKind.SCRATCH_FAST.value, fast_size, is_fast=True)
    return (Scratch(RegionKind.SCRATCH.value, size, offset=0), fast)


def way_out(partitions: tuple[Partition, ...]) -> str:
    """Return the options that avoid Vela's own layout of tensors, if partitions allow them."""
    ends = [len({*p.inputs, *p.outputs}) for p in partitions]
    if max(ends, default=0) > OWN_BASES:
        return "--npu none for this network"
    return "--io caller, which leaves their place to us"


def read_only(plan: Plan) -> bytes:
    """Return the blob of weights and tables that all partitions of a plan share."""
    return next((blob.data for blob in plan.blobs if blob.name == WEIGHTS), b"")


def scratch_bytes(plan: Plan, kind: RegionKind = RegionKind.SCRATCH) -> int:
    """Return the size of a scratch that all partitions of a plan share."""
    return sum(scratch.bytes for scratch in plan.scratches if scratch.name == kind.value)


def _address(base: Base) -> Address:
    if base is RegionKind.READ_ONLY:
        return Address(WEIGHTS)
    return Address(base.value if isinstance(base, RegionKind) else base)


def _commands(number: int, partition: Partition) -> Blob:
    stream = stream_of(partition)
    return Blob(
        f"commands_{number}",
        driver_header(stream.config_word, stream.id_word, stream.commands) + stream.commands,
        part="commands",
        comment=f"{partition.name}: eight words of Arm's driver header, then the commands.",
    )
