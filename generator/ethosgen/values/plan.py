"""The plan: partitions on accelerators, and operators left on the CPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from ethosgen.values.accelerator import NO_NPU, Accelerator
from ethosgen.values.allocation import OperatorIndex, ResidualIndex
from ethosgen.values.arena import ArenaSize
from ethosgen.values.call import Call
from ethosgen.values.device import Device
from ethosgen.values.extension import Extension
from ethosgen.values.layout import channels_first_inputs
from ethosgen.values.lives import Life
from ethosgen.values.network import Graph, Network, Tensor
from ethosgen.values.optimization import Optimization
from ethosgen.values.quantization import command_for, is_float
from ethosgen.values.schedule import NO_COPIES, USUAL_SCHEDULE, FetchRule, Schedule


class IoStyle(Enum):
    """The place of a network's inputs and outputs."""

    ARENA = "arena"
    """In the arena, where the plan put them; later tensors may reuse their bytes."""
    CALLER = "caller"
    """In the caller's buffers, by pointer."""


@dataclass(frozen=True)
class Blob:
    """Constant bytes that partitions need: an array in the generated C.

    `name` follows the network's name in the C. `part` is the part of the firmware that holds it, in
    a board's placement. `parameter` is the parameter through which the entry gets its address; ""
    if the C names the array itself.
    """

    name: str
    data: bytes = field(repr=False)
    part: str = "weights"
    comment: str = ""
    dtype: str = "uint32"
    alignment: int = 16
    parameter: str = ""


@dataclass(frozen=True)
class Scratch:
    """Memory that partitions need while they run.

    With an `offset` in the arena it keeps its content from the first partition to the last; else it
    may be anywhere, and holds nothing between two partitions. `is_fast` requests the board's fast
    memory, if it has any besides the arena's.
    """

    name: str
    bytes: int
    offset: int | None = None
    is_fast: bool = False
    alignment: int = 16


@dataclass(frozen=True)
class Partition:
    """A subgraph that a backend runs, by one call.

    `operator` is the index of the residual graph's operator that represents it. `payload` is the
    backend's own: nothing else reads it. `backend` names the wrapped accelerator that runs it; ""
    is the plan's NPU, whose compiler placed its tensors.
    """

    name: str
    operator: ResidualIndex
    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[OperatorIndex, ...] = ()
    """Indices of the original model's operators that this partition runs, where known."""
    why_it_ends: str = ""
    payload: object = field(default=None, repr=False)
    backend: str = ""
    steps: float = 0.0
    """The steps by which network outputs may differ from the oracle's, as the user allows and it
    may need; 0 if it computes what the oracle does."""
    instance: int = 0
    """Which of the accelerator's `instances` equal devices runs it."""
    instances: int = 1
    cycles: int | None = None
    """The estimate for a wrapped accelerator's work, None if it is unknown."""
    start_cycles: int = 0
    """The estimate for the CPU's work to start it."""

    @property
    def unit(self) -> str:
        """The device that runs it, for messages; "" is the plan's NPU."""
        return f"{self.backend}[{self.instance}]" if self.instances > 1 else self.backend

    @property
    def on_npu(self) -> bool:
        """Whether the plan's NPU runs it."""
        return not self.backend


@dataclass(frozen=True)
class CpuOperator:
    """An operator that stayed on the CPU, with the reason for the user.

    `erratum` names the erratum that keeps it there, "" if none does.
    """

    operator: ResidualIndex
    code: str
    output: str
    reason: str
    erratum: str = ""


@dataclass(frozen=True)
class Check:
    """The result of the check of a plan on the NPU model before anything was written.

    `oracle` names the oracle that it was compared with, None without a comparison: `skipped` tells
    why. `left_out` counts outputs that were not compared, for the reason `left_out_why`. `cases`
    are the folders of the minimal differing networks, whose operators stay on the CPU. `driven`
    counts the operators that were also tried alone, at the ends of their inputs' range.
    `has_checked_accesses` tells whether each access of the NPU was checked to be in the plan's
    memories; None if nothing runs on the NPU.
    """

    oracle: str | None
    samples: int = 0
    elements: int = 0
    skipped: str = ""
    cases: tuple[str, ...] = ()
    left_out: int = 0
    left_out_why: str = ""
    has_checked_accesses: bool | None = None
    driven: int = 0


class OffloadMode(Enum):
    """The supported operators that the NPU runs."""

    ALL = "all"
    AUTO = "auto"
    """Those that are estimated to be faster there."""
    NONE = "none"


@dataclass(frozen=True)
class OffloadOptions:
    """How a network is divided between NPU and CPU, and which oracle decides about the result.

    `cpu_ops` names operators (CONV_2D) that stay on the CPU. `trust_compiler` ignores the errata,
    `check` compares the plan with the oracle first. `oracle` is a short name; None means TFLite
    Micro wherever it can run the network. `steps` is the difference that the user allows, for
    accelerators that round differently. `schedule` is for the NPU's compiler. With `allow_fallback`
    operators that a user's accelerator computes wrongly stay on the CPU; else they are an error.
    `optimize` plans the network without parts that cannot change its outputs.
    """

    cpu_ops: tuple[str, ...] = ()
    mode: OffloadMode = OffloadMode.ALL
    """Which of its supported operators the NPU runs."""
    trust_compiler: bool = False
    check: bool = True
    oracle: str | None = None
    steps: float = 0.0
    schedule: Schedule = USUAL_SCHEDULE
    allow_fallback: bool = False
    optimize: bool = True


EXACT = OffloadOptions()
"""The defaults."""


@dataclass(frozen=True)
class Choice:
    """Two estimates, in cycles, for operators that the NPU supports, and the choice.

    `part` numbers the partitions of the plan with everything on the NPU; `cpu_cycles` is None if
    unknown. `on` is "npu" or "cpu".
    """

    part: int
    operators: int
    npu_cycles: int
    cpu_cycles: int | None
    on: str


CPU = "cpu"
"""The name under which the CPU's own kernels stand beside other backends."""


@dataclass(frozen=True)
class Offered:
    """A backend's offer for an operator: its cycles, None if unknown; or a refusal.

    `backend` is the NPU's name, an accelerator's, or "cpu". `start` are the cycles of a call's
    start, at the first operator of the call. An operator in the call of the one before it costs 0.
    `unknown` says why an accelerator's cycles are.
    """

    backend: str
    cycles: int | None = None
    refusal: str = ""
    start: int = 0
    unknown: str = ""


@dataclass(frozen=True)
class Placing:
    """Where an operator of the network runs, why, and each backend's offer.

    `on` is a backend's name as in Offered, "" for an operator that disappears in others. Without
    --offload auto and without users' accelerators there are no offers.
    """

    operator: OperatorIndex
    code: str
    output: str
    on: str
    reason: str
    offers: tuple[Offered, ...] = ()


@dataclass(frozen=True)
class Share:
    """The share of one wrapped accelerator; `cycles` includes starts, None if unknown.

    `is_simulated` means that its own C or model runs on this machine, not our kernels instead.
    `device_cycles` are those that a device takes besides its driver, which runs on the processor;
    0 without a device.
    """

    name: str
    title: str
    partitions: int
    operators: int
    cycles: int | None = None
    is_simulated: bool = True
    device_cycles: int | None = 0


@dataclass(frozen=True)
class PlanSummary:
    """The user's summary of a plan: the NPU's share, and the reasons for the CPU's.

    `npu` is NO_NPU for a plan without an NPU. `choices` is empty unless OffloadMode.AUTO chose.
    """

    npu: str
    partitions: int
    npu_operators: int | None
    cpu_operators: tuple[CpuOperator, ...]
    sram_bytes: int
    npu_cycles: int | None
    """The compiler's estimate for one inference; None for a precompiled file."""
    choices: tuple[Choice, ...] = ()
    fused: tuple[str, ...] = ()
    """CPU operators that share a function, "CONV_2D + RELU6"; () before compilation."""
    overlapped: tuple[str, ...] = ()
    """What accelerators compute while others work, "'sum' on toy beside RELU, ADD"."""
    hidden_cycles: int = 0
    """The estimated cycles that this saves."""
    arena: ArenaSize | None = None
    """None before compilation."""
    npu_operations: int | None = None
    """For a precompiled file: the operations in its command streams, without copies."""
    decompressed: Mapping[str, int] | None = None
    """For a network with TFLM_DECODE: the number of constants, their encoded and decoded bytes."""
    check: Check | None = None
    """None if no check was requested."""
    quantize_with: str = ""
    """For a float network: the command that quantizes it."""
    shares: tuple[Share, ...] = ()
    """What users' accelerators run, in the order in which they were asked."""
    placings: tuple[Placing, ...] = ()
    """For each operator of the network; () for a precompiled file."""
    steps: float = 0.0
    """The steps by which outputs may differ from the oracle's, as the user allows; 0: exact."""
    optimization: Optimization | None = None
    """What the optimizer did; None if it found nothing, or was not asked."""
    channels_first: tuple[str, ...] = ()
    """Inputs behind which --input-layout nhwc would save a TRANSPOSE."""


@dataclass(frozen=True)
class Plan:
    """The split of a model between NPU and CPU; the defaults are for a plan without an NPU.

    `residual` is the graph with each partition folded into one CUSTOM operator. `offsets` has the
    byte offset in the arena of each tensor that the backend placed (for IoStyle.ARENA: partition
    inputs and outputs, and CPU tensors between them); partitions rely on it. `sram_bytes` is the
    SRAM that its compiler reports as used, inputs and outputs included. `npu_operators` is None
    for a precompiled file, which does not record it. `network` is the optimized one; operators are
    numbered as there.
    """

    network: Network
    io: IoStyle
    residual: Graph
    accelerator: Accelerator | None = None
    partitions: tuple[Partition, ...] = ()
    cpu_operators: tuple[CpuOperator, ...] = ()
    npu_operators: int | None = 0
    blobs: tuple[Blob, ...] = ()
    scratches: tuple[Scratch, ...] = ()
    offsets: Mapping[int, int] = field(default_factory=dict)
    sram_bytes: int = 0
    npu_cycles: int | None = 0
    """The compiler's own estimate for one inference; None for a precompiled file."""
    memory_mode: str = ""
    """The board's memory mode that the compiler assumed; "" if unknown, as for such a file."""
    choices: tuple[Choice, ...] = ()
    reach: Mapping[int, int] = field(default_factory=dict)
    """For IoStyle.CALLER, the bytes of a tensor that the NPU copies, if more than it has."""
    npu_operations: int | None = None
    """For a precompiled file; see PlanSummary."""
    alignments: Mapping[int, int] = field(default_factory=dict)
    """The alignment in bytes of tensors whose wrapped accelerator needs more than others do."""
    origins: Mapping[ResidualIndex, OperatorIndex] = field(default_factory=dict)
    """The network's operator for each operator of the residual graph on the CPU, where known."""
    wrapped: tuple[object, ...] = ()
    """The accelerators that users describe, in their order: `ethosgen.backend.protocol.Wrapped`."""
    shares: tuple[Share, ...] = ()
    """What each of them runs."""
    placings: tuple[Placing, ...] = ()
    """See PlanSummary."""
    lives: Mapping[int, Life] = field(default_factory=dict)
    """The lives, in the compiler's own order of operators, of the tensors that have an offset."""
    compiler: str = "the accelerator's compiler"
    """The name of the partitions' compiler, as messages call it."""
    way_out: str = "--npu none for this network"
    """What to use instead of a plan whose offsets the CPU's operators cannot follow."""
    extension: Extension = Extension.HELIUM
    """The processor's instructions, which decide between the kernels of CPU operators."""
    fetch: FetchRule = NO_COPIES
    apart: bool = False
    """Whether weights, command streams and other constants are in a file apart from the code."""

    def buffer_bytes(self, tensor: Tensor) -> int:
        """Return the size of a tensor's buffer, including bytes that only the NPU reads.

        The bytes after the tensor are meaningless, but the NPU reads them.
        """
        return max(tensor.bytes, self.reach.get(tensor.index, 0))

    def part_bytes(self, part: str) -> int:
        """Return the size of the blobs in a part of the firmware."""
        return sum(len(blob.data) for blob in self.blobs if blob.part == part)

    @property
    def fast_bytes(self) -> int:
        """The size of the scratches that request fast memory."""
        return sum(scratch.bytes for scratch in self.scratches if scratch.is_fast)

    def without_fast(self) -> "Plan":
        """Return the plan with its fast scratches outside the arena, in their own memory."""
        outside = (replace(s, bytes=0) if s.is_fast else s for s in self.scratches)
        return replace(self, scratches=tuple(outside))

    options: OffloadOptions = EXACT
    """The request: it produces the same plan again."""
    check: Check | None = None
    optimization: Optimization | None = None
    """See PlanSummary."""
    before: Network | None = field(default=None, repr=False)
    """The network as read, if the optimizer changed it."""
    devices: tuple[Device, ...] = ()
    """The devices besides the NPU that its partitions use."""

    @property
    def original(self) -> Network:
        """The network as read, which the oracle runs."""
        return self.before or self.network

    @property
    def npu(self) -> str:
        """The NPU's name, or NO_NPU."""
        return self.accelerator.name if self.accelerator else NO_NPU

    @property
    def is_precompiled(self) -> bool:
        """Whether a backend's compiler made the network, so the original is missing."""
        return self.npu_operators is None

    def summary(self) -> PlanSummary:
        """Return the plan's figures."""
        return PlanSummary(
            npu=self.npu,
            partitions=sum(partition.on_npu for partition in self.partitions),
            npu_operators=self.npu_operators,
            cpu_operators=self.cpu_operators,
            sram_bytes=self.sram_bytes,
            npu_cycles=self.npu_cycles,
            choices=self.choices,
            npu_operations=self.npu_operations,
            decompressed=self._decompressed(),
            check=self.check,
            quantize_with=command_for(self.network) if is_float(self.network) else "",
            shares=self.shares,
            placings=self.placings,
            steps=self.steps,
            optimization=self.optimization,
            channels_first=channels_first_inputs(self.network),
        )

    @property
    def steps(self) -> float:
        """The steps by which outputs may differ: 0 if all operators on accelerators are exact."""
        return max((partition.steps for partition in self.partitions), default=0.0)

    def _decompressed(self) -> Mapping[str, int] | None:
        was = self.network.compression
        if was is None:
            return None
        return {
            "constants": was.tensors,
            "bytes_before": was.bytes_before,
            "bytes_after": was.bytes_after,
        }
