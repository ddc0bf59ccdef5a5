"""What runs where: the partitions on the NPU and the operators left on the CPU."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from ethosgen.backend.ethosu.accelerator import NO_NPU, Accelerator
from ethosgen.values.lives import Life
from ethosgen.values.model import Graph, Model, Tensor

OWN_BASES = 5
"""Tensors of a partition that can have a base pointer of their own: BASEP3 to BASEP7."""


class IoStyle(Enum):
    """Where a network's inputs and outputs live."""

    ARENA = "arena"
    """In the arena, where the plan put them; they may share space with what comes later."""
    CALLER = "caller"
    """In the caller's own buffers, by pointer, each through a base pointer of its own."""


class RegionKind(Enum):
    """What a region's base pointer points to, when it is not a tensor of its own."""

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
    """An operator that stayed on the CPU, and why, in the user's words.

    `erratum` names the entry of the table of errata that keeps it there, "" if none does.
    """

    operator: int
    code: str
    output: str
    reason: str
    erratum: str = ""


@dataclass(frozen=True)
class Kept:
    """Why an operator must stay on the CPU though the NPU could run it; `erratum` as above."""

    reason: str
    erratum: str = ""


@dataclass(frozen=True)
class Check:
    """How a plan did on the functional model before anything was written.

    `oracle` is whose outputs it was compared with, None where it was not compared: `skipped` says
    why. `cases` are the folders with the minimal networks that differed and were kept from the NPU.
    """

    oracle: str | None
    samples: int = 0
    elements: int = 0
    skipped: str = ""
    cases: tuple[str, ...] = ()


class OffloadMode(Enum):
    """What the NPU gets of what it can run."""

    ALL = "all"
    AUTO = "auto"
    """What is estimated faster there."""
    NONE = "none"


@dataclass(frozen=True)
class Choice:
    """Two estimates, in cycles, for operators that the NPU can run, and where they went.

    `part` numbers the partitions as they were with everything on the NPU; `cpu_cycles` is None
    where it cannot be told. `on` is "npu" or "cpu".
    """

    part: int
    operators: int
    npu_cycles: int
    cpu_cycles: int | None
    on: str


@dataclass(frozen=True)
class PlanSummary:
    """What a user wants to know of a plan: how much the NPU runs, and why the rest does not.

    `npu` is NO_NPU for a plan without one. `choices` is empty unless OffloadMode.AUTO chose.
    """

    npu: str
    partitions: int
    npu_operators: int | None
    cpu_operators: tuple[CpuOperator, ...]
    sram_bytes: int
    npu_cycles: int | None
    """Vela's estimate for one inference; None for a file that was compiled before."""
    choices: tuple[Choice, ...] = ()
    fused: tuple[str, ...] = ()
    """Operators of the CPU that share a function, "CONV_2D + RELU6"; () before it is compiled."""
    npu_operations: int | None = None
    """For a file that was compiled before: what its command streams start, copies apart."""
    decompressed: Mapping[str, int] | None = None
    """For a network with TFLM_DECODE: constants, their bytes in the file, and decoded ones."""
    check: Check | None = None
    """None where it was not asked for."""


@dataclass(frozen=True)
class OffloadPlan:
    """The split of a model between NPU and CPU; `accelerator` is None where there is no NPU.

    `residual` is the graph with each partition folded into one `ethos-u` CUSTOM operator.
    `offsets` gives, for IoStyle.ARENA, the byte offset in scratch of each tensor that Vela placed
    (partition inputs and outputs, and CPU tensors between them); the NPU's addresses rely on it.
    `sram_bytes` is what Vela itself reports as SRAM used, inputs and outputs included.
    `npu_operators` is None for a file that was compiled before: it does not say how many it ran.
    """

    model: Model
    accelerator: Accelerator | None
    io: IoStyle
    residual: Graph
    partitions: tuple[Partition, ...]
    cpu_operators: tuple[CpuOperator, ...]
    npu_operators: int | None
    read_only: bytes = field(repr=False)
    scratch_bytes: int
    scratch_fast_bytes: int
    offsets: Mapping[int, int]
    sram_bytes: int
    npu_cycles: int | None = 0
    """Vela's own estimate for the NPU, for one inference; None for a file compiled before."""
    choices: tuple[Choice, ...] = ()
    reach: Mapping[int, int] = field(default_factory=dict)
    """For IoStyle.CALLER, the bytes that the NPU copies of a tensor, where it has fewer."""
    npu_operations: int | None = None
    """Of a file that was compiled before; see PlanSummary."""
    lives: Mapping[int, Life] = field(default_factory=dict)
    """For tensors with an offset, when they live in Vela's own order of operators."""

    def buffer_bytes(self, tensor: Tensor) -> int:
        """Return how large a tensor's buffer must be: as the tensor, or as far as the NPU reaches.

        What lies behind the tensor means nothing, but it is read.
        """
        return max(tensor.bytes, self.reach.get(tensor.index, 0))

    cpu_ops: tuple[str, ...] = ()
    mode: OffloadMode = OffloadMode.ALL
    """With the next three and `cpu_ops`, what was asked for: it makes the same plan again."""
    trust_vela: bool = False
    check_asked: bool = True
    oracle: str | None = None
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
        was = self.model.compressed
        if was is None:
            return None
        return {
            "constants": was.tensors,
            "bytes_before": was.bytes_before,
            "bytes_after": was.bytes_after,
        }
