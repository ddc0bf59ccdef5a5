"""The plan: partitions on the NPU, and operators left on the CPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ethosgen.values.accelerator import NO_NPU, Accelerator
from ethosgen.values.lives import Life
from ethosgen.values.network import Graph, Network, Tensor

OWN_BASES = 5
"""Number of a partition's tensors that can have their own base pointer: BASEP3 to BASEP7."""


class IoStyle(Enum):
    """Where a network's inputs and outputs are."""

    ARENA = "arena"
    """In the arena, where the plan put them; later tensors may reuse their bytes."""
    CALLER = "caller"
    """In the caller's buffers, by pointer, each through its own base pointer."""


class RegionKind(Enum):
    """The target of a region's base pointer, if it is not a tensor."""

    READ_ONLY = "read_only"
    SCRATCH = "scratch"
    SCRATCH_FAST = "scratch_fast"


Base = RegionKind | int
"""A base pointer's target: a Memory, or the index of a tensor in the residual graph."""


@dataclass(frozen=True)
class Partition:
    """A subgraph that runs on the NPU, as one command stream.

    `commands` are the bare register commands, without any driver header. `operator` is the index of
    the `ethos-u` operator in the residual graph. `bases[i]` says what BASEPi points to.
    """

    name: str
    operator: int
    commands: bytes = field(repr=False)
    id_word: int
    config_word: int
    bases: tuple[Base, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operators: tuple[int, ...] = ()
    """Indices of the original model's operators that this partition runs, where known."""
    why_it_ends: str = ""


@dataclass(frozen=True)
class CpuOperator:
    """An operator that stayed on the CPU, with the reason as the user reads it.

    `erratum` names the erratum that keeps it there, "" if none does.
    """

    operator: int
    code: str
    output: str
    reason: str
    erratum: str = ""


@dataclass(frozen=True)
class Kept:
    """Why an operator must stay on the CPU although the NPU supports it; `erratum` as above."""

    reason: str
    erratum: str = ""


@dataclass(frozen=True)
class Check:
    """The result of the check of a plan on the NPU model before anything was written.

    `oracle` names the oracle that it was compared with, None without a comparison: `skipped` says
    why. `left_out` counts outputs that were not compared, for the reason `left_out_why`. `cases`
    are the folders of the minimal differing networks, whose operators stay on the CPU.
    `has_checked_accesses` says whether each access of the NPU was checked to be in the plan's
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


class OffloadMode(Enum):
    """Which of its supported operators the NPU runs."""

    ALL = "all"
    AUTO = "auto"
    """Those that are estimated to be faster there."""
    NONE = "none"


@dataclass(frozen=True)
class OffloadOptions:
    """How a network is divided between NPU and CPU, and which oracle decides about the result.

    `cpu_ops` names operators (CONV_2D) that stay on the CPU. `trust_vela` ignores the errata,
    `check` compares the plan with the oracle first. `oracle` is a short name; None means TFLite
    Micro wherever it can run the network.
    """

    cpu_ops: tuple[str, ...] = ()
    mode: OffloadMode = OffloadMode.ALL
    trust_vela: bool = False
    check: bool = True
    oracle: str | None = None


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
    """Vela's estimate for one inference; None for a precompiled file."""
    choices: tuple[Choice, ...] = ()
    fused: tuple[str, ...] = ()
    """CPU operators that share a function, "CONV_2D + RELU6"; () before compilation."""
    npu_operations: int | None = None
    """For a precompiled file: the operations in its command streams, without copies."""
    decompressed: Mapping[str, int] | None = None
    """For a network with TFLM_DECODE: the number of constants, their encoded and decoded bytes."""
    check: Check | None = None
    """None if no check was requested."""


@dataclass(frozen=True)
class OffloadPlan:
    """The split of a model between NPU and CPU; the defaults are those of a plan without an NPU.

    `residual` is the graph with each partition folded into one `ethos-u` CUSTOM operator.
    `offsets` has, for IoStyle.ARENA, the byte offset in scratch of each tensor that Vela placed
    (partition inputs and outputs, and CPU tensors between them); the NPU's addresses rely on it.
    `sram_bytes` is the SRAM that Vela reports as used, inputs and outputs included.
    `npu_operators` is None for a precompiled file, which does not record it.
    """

    network: Network
    io: IoStyle
    residual: Graph
    accelerator: Accelerator | None = None
    partitions: tuple[Partition, ...] = ()
    cpu_operators: tuple[CpuOperator, ...] = ()
    npu_operators: int | None = 0
    read_only: bytes = field(default=b"", repr=False)
    scratch_bytes: int = 0
    scratch_fast_bytes: int = 0
    offsets: Mapping[int, int] = field(default_factory=dict)
    sram_bytes: int = 0
    npu_cycles: int | None = 0
    """Vela's own estimate for one inference on the NPU; None for a precompiled file."""
    choices: tuple[Choice, ...] = ()
    reach: Mapping[int, int] = field(default_factory=dict)
    """For IoStyle.CALLER, the bytes of a tensor that the NPU copies, if more than it has."""
    npu_operations: int | None = None
    """For a precompiled file; see PlanSummary."""
    lives: Mapping[int, Life] = field(default_factory=dict)
    """The lives, in Vela's own order of operators, of the tensors that have an offset."""

    def buffer_bytes(self, tensor: Tensor) -> int:
        """Return the size of a tensor's buffer, including bytes that only the NPU reads.

        The bytes after the tensor are meaningless, but the NPU reads them.
        """
        return max(tensor.bytes, self.reach.get(tensor.index, 0))

    options: OffloadOptions = EXACT
    """The request: it produces the same plan again."""
    check: Check | None = None

    @property
    def npu(self) -> str:
        """The NPU's name, or NO_NPU."""
        return self.accelerator.name if self.accelerator else NO_NPU

    def summary(self) -> PlanSummary:
        """Return the plan's figures."""
        return PlanSummary(
            npu=self.npu,
            partitions=len(self.partitions),
            npu_operators=self.npu_operators,
            cpu_operators=self.cpu_operators,
            sram_bytes=self.sram_bytes,
            npu_cycles=self.npu_cycles,
            choices=self.choices,
            npu_operations=self.npu_operations,
            decompressed=self._decompressed(),
            check=self.check,
        )

    def _decompressed(self) -> Mapping[str, int] | None:
        was = self.network.compression
        if was is None:
            return None
        return {
            "constants": was.tensors,
            "bytes_before": was.bytes_before,
            "bytes_after": was.bytes_after,
        }
