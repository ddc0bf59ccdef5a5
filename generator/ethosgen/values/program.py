"""TVM's output: C sources, the memory plan and the I/O contract."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ethosgen.values.advice import Improvement
from ethosgen.values.arena import ArenaSize
from ethosgen.values.c_types import C_TYPES
from ethosgen.values.golden import NO_GOLDEN, GoldenCrc
from ethosgen.values.memory_record import NO_RECORD, MemoryRecord
from ethosgen.values.network import Tensor
from ethosgen.values.plan import IoStyle, Plan, PlanSummary
from ethosgen.values.profile import ProgramStep

READ_ONLY = "read_only"
"""The parameter of every entry for constants that partitions share; not every plan uses it."""

NO_TENSOR = -1
"""The index in an ArenaTensor that is none of the network's tensors."""


@dataclass(frozen=True)
class ArenaTensor:
    """A tensor's place in the arena: byte `offset`, live over operators first..last."""

    tensor: int
    name: str
    offset: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Port:
    """An input or output of the network in C.

    `c_name` is unique and a C identifier; `offset` is its place in the arena, None if the caller
    owns the buffer.
    """

    c_name: str
    tensor: Tensor
    offset: int | None


@dataclass(frozen=True)
class Variable:
    """A tensor that keeps its value from one inference to the next (the state of an LSTM).

    It lies `offset` bytes into `memory`: "arena" if the NPU uses it, else "state". Each of its
    bytes is initially `initial_byte`.
    """

    name: str
    memory: str
    offset: int
    bytes: int
    initial_byte: int


@dataclass(frozen=True)
class Structs:
    """C structs of one type: the initializer of each, and the bytes of all."""

    ctype: str
    initializers: tuple[str, ...]
    data: bytes = field(repr=False)

    @property
    def is_one(self) -> bool:
        """Whether it is a struct, not an array of several."""
        return len(self.initializers) == 1

    @property
    def nbytes(self) -> int:
        """Their size, named as that of an array."""
        return len(self.data)


@dataclass(frozen=True)
class Constant:
    """Constant bytes of CPU operators that the C code names; `alignment` in bytes.

    If they are `structs`, a network's own C defines them.
    """

    c_name: str
    dtype: str
    data: bytes = field(repr=False)
    alignment: int = 16
    structs: Structs | None = None

    @property
    def ctype(self) -> str:
        """The C type of an element."""
        return self.structs.ctype if self.structs else C_TYPES[self.dtype]


@dataclass(frozen=True)
class RowFeed:
    """The caller's way to give the input: `rows` rows, of which the first `read` matter."""

    rows: int
    read: int
    elements: int
    """Those of a row."""


@dataclass(frozen=True)
class SlicedStep:
    """A step of an inference in slices: it takes `turns` slices.

    `shares` are each operator's largest share in one of them, by its index.
    """

    turns: int
    shares: Mapping[int, float]


@dataclass(frozen=True)
class Fetch:
    """A copy of a constant that step `step` reads, begun before step `start` computes.

    `start` is `step` for the first step. `offset` is the copy's place in the arena.
    """

    constant: str
    step: int
    start: int
    bytes: int
    offset: int = 0


@dataclass(frozen=True)
class Program:
    """The network as C: `sources` maps a file name to text that TVM's code generator emitted.

    The C defines `int32_t NAME_entry(…)` with one pointer parameter for each entry of
    `entry_parameters`, in order: "arena", "read_only" and the plan's other blobs that have a
    parameter, "state" if `state_bytes` is not 0, then the
    c_name of each port that the caller owns, and returns 0 or the first non-zero status of an NPU
    invocation. In slices (`aot.code.slices`) it returns after each, with MORE except for the last.
    """

    name: str
    plan: Plan
    io: IoStyle
    sources: Mapping[str, str] = field(repr=False)
    entry_parameters: tuple[str, ...]
    constants: tuple[Constant, ...]
    """Those of the file of weights, or of the C file of the network's weights."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    arena_bytes: int
    arena_alignment: int
    placements: tuple[ArenaTensor, ...]
    state_bytes: int = 0
    variables: tuple[Variable, ...] = ()
    fused: tuple[str, ...] = ()
    """CPU operators that share a function, "CONV_2D + RELU6"."""
    overlapped: tuple[str, ...] = ()
    """See PlanSummary."""
    steps: tuple[ProgramStep, ...] = ()
    """The calls of the entry, in order."""
    workspaces: tuple[ArenaTensor, ...] = ()
    """What operators and partitions need besides tensors; `tensor` is NO_TENSOR."""
    cycles: int = 0
    """With accelerators that work beside others, the estimated cycles of an inference."""
    hidden_cycles: int = 0
    """The estimated cycles that it saves so."""
    stream_cycles: int = 0
    """The estimated cycles that bands of rows take more than whole tensors."""
    fetches: tuple[Fetch, ...] = ()
    advice: tuple[Improvement, ...] = ()
    """What would help, the largest gain first."""
    feed: RowFeed | None = None
    """Of a network whose input is fed by rows."""
    slices: tuple[SlicedStep, ...] = ()
    """Of a network that runs in slices: its steps."""
    arena_bound_bytes: int = 0
    """See ArenaSize."""
    golden: GoldenCrc = NO_GOLDEN
    """What the self-test compares the output with."""
    memory: MemoryRecord = NO_RECORD
    structs: tuple[Constant, ...] = ()
    """Constants that the network's C defines among its functions."""

    @property
    def arena(self) -> ArenaSize:
        """The size of the arena, and its bound."""
        return ArenaSize(self.arena_bytes, self.arena_bound_bytes)

    @property
    def may_wait(self) -> bool:
        """Whether an inference may have no outputs, because a CIRCULAR_BUFFER collects inputs."""
        return self.plan.network.period > 1

    def summary(self) -> PlanSummary:
        """Return the plan's figures, with the fused operators and the arena."""
        summary = self.plan.summary()
        return replace(
            summary,
            fused=self.fused,
            overlapped=self.overlapped,
            hidden_cycles=self.hidden_cycles,
            arena=self.arena,
        )
