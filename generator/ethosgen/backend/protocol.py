"""The protocols of a backend, which the flow calls, and the values that they pass.

`Backend` is the common part of all: they offer operators at a cost, compile a choice of them, and
add files to a project. An accelerator also has a device: `AcceleratorBackend` joins its parts, one
for each kind of caller. A user's own is `Wrapped`. `ethosgen.backend` is their registry.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np

from ethosgen.backend.stream_run import StreamRun
from ethosgen.backend.timeline import NpuTimeline
from ethosgen.backend.trace import Trace
from ethosgen.platforms import find_platform
from ethosgen.values.accelerator import Accelerator
from ethosgen.values.allocation import Allocation, Index, OperatorIndex, ResidualIndex
from ethosgen.values.device import Device
from ethosgen.values.errors import EthosgenError
from ethosgen.values.network import Graph, Network, Operator
from ethosgen.values.outcome import Arrays
from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions, Partition, Plan
from ethosgen.values.profile import NpuOperation
from ethosgen.values.watch import Watch


@dataclass(frozen=True)
class BoardMemories:
    """A board's memories as compilers see them.

    `mode` is the memory mode, `near_bytes` the size of the accelerator's working SRAM: one reserved
    for it, else the arena's.
    """

    mode: str
    near_bytes: int


Table = np.ndarray[Any, np.dtype[np.int8]]
"""An operator's outputs for all 256 inputs."""


class CpuSide(Protocol):
    """The CPU's side of a plan: cost, layout and lookup tables of its operators."""

    def cpu_cycles(self, operator: Operator, graph: Graph, /) -> int | None:
        """Return an operator's estimated cycles, None if they are unknown or there is no code."""

    def require_places(self, plan: Plan, /) -> None:
        """Raise RefusalError for a plan whose layout the CPU's operators cannot use."""

    def table_of(self, operator: Operator, graph: Graph, /) -> Table | None:
        """Return the CPU's lookup table of an 8-bit operator, None if it has none."""


class LowerToC(Protocol):
    """Makes C of a PrimFunc: the parameters, with these types in C, and the body of a function."""

    def __call__(self, function: Any, kinds: Sequence[str], /) -> str:
        """Return the C; ValueError says why there is none."""


@dataclass(frozen=True)
class DivisionTask:
    """A network to divide between an accelerator and the CPU.

    Without `memories` the compiler assumes those of a usual board. It uses the options `cpu_ops`,
    `trust_compiler` and `schedule`.
    """

    network: Network
    accelerator: Accelerator
    io: IoStyle
    cpu: CpuSide
    memories: BoardMemories | None = None
    options: OffloadOptions = EXACT


class Runner(Protocol):
    """Simulates the partitions of one plan on this machine."""

    def __call__(self, partition: Partition, inputs: Arrays, /) -> Arrays:
        """Run one partition on inputs by tensor name; return outputs by tensor name.

        The result also has the new values of variables among the inputs. NpuFault for an invalid
        command stream.
        """

    def check_accesses(self) -> None:
        """Raise NpuFault for the first access outside the plan's memories, without running."""


@dataclass(frozen=True)
class SharedMemory:
    """A part of a target's memory as the NPU sees it: its address and its bytes."""

    name: str
    start_addr: int
    memory: np.ndarray[Any, np.dtype[np.uint8]]
    writable: bool


class NpuModel(Protocol):
    """A simulator as a target uses it; its registers are in the page passed at its creation."""

    def poll(self) -> bool:
        """Poll the registers and execute requests; return whether there were any."""

    @property
    def last_run(self) -> StreamRun | None:
        """The last command stream, None before the first."""

    @property
    def last_fault(self) -> EthosgenError | None:
        """The fault that ended the last command stream, None if it ended normally."""


Attach = Callable[
    [np.ndarray[Any, np.dtype[np.uint32]], Sequence[SharedMemory], Callable[[], None]], NpuModel
]
"""Creates a simulator from the register page, the memories and a function for the interrupt."""


class Line(Protocol):
    """One command of a listing."""

    @property
    def text(self) -> str:
        """The command as text."""

    def as_json(self) -> dict[str, Any]:
        """Return an object of JSON types."""


@dataclass(frozen=True)
class Listing:
    """One command stream; `lines` raises NpuFault if the stream is invalid."""

    name: str
    accelerator: Accelerator
    size_bytes: int
    lines: Iterator[Line]

    def as_json(self) -> dict[str, Any]:
        """Return the listing as an object of JSON types."""
        return {
            "name": self.name,
            "npu": self.accelerator.name,
            "bytes": self.size_bytes,
            "commands": [line.as_json() for line in self.lines],
        }


@dataclass(frozen=True)
class OutsideCode:
    """Code that a firmware may have besides the library, and that is not in the project.

    `licence` is an SPDX identifier, "" if it is unknown. `drivers` are the platforms' drivers that
    use it; if it `is_optional`, the user chooses it when building.
    """

    name: str
    title: str
    licence: str = ""
    address: str = ""
    drivers: tuple[str, ...] = ()
    is_optional: bool = False


@dataclass(frozen=True)
class ExternalFiles:
    """Sources that a build finds at a user's path: the value of the variable `option`.

    `slug` names their CMake target; `owner` needs them. Below the path are the file `marker`, the C
    files `sources` (* stands for names), folders of headers, and compiled `libraries` to link.
    """

    slug: str
    owner: str
    option: str
    title: str
    marker: str
    sources: tuple[str, ...]
    includes: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    default: str = ""
    """The path if the variable is not set."""
    install: str = ""
    """The command that installs them."""


@dataclass(frozen=True)
class ProjectFiles:
    """A backend's additions to a project.

    `templates` is its folder below templates/, or any folder. `files` maps paths in the library to
    files there, for the drivers of platforms in `instead` to others. Every build compiles
    `sources`. The network's C includes `headers`. `copies` are unchanged files of the library, and
    `includes` folders there in which `sources` find headers. `external` are sources outside the
    project, `outside` is other code that belongs to them, `compilers` made the partitions.
    `libraries` names the system's libraries to link. Only `platforms` can have it, () for all.
    """

    templates: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[str] = ()
    headers: Sequence[str] = ()
    instead: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    copies: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    includes: Sequence[str] = ()
    external: Sequence[ExternalFiles] = ()
    libraries: Sequence[str] = ()
    platforms: Sequence[str] = ()
    outside: Sequence[OutsideCode] = ()
    compilers: Sequence[OutsideCode] = ()

    def on(self, platform: str) -> Mapping[str, str]:
        """Return the files on a platform."""
        return self.instead.get(find_platform(platform).driver, self.files)


@dataclass(frozen=True)
class Offer:
    """A backend's offer for an operator: the cycles of one run, or the reason why it refuses.

    `cycles` is None if they are unknown; `unknown` says why. Operators of one `group` run together,
    in one call, which takes `start` more cycles.
    """

    cycles: int | None = None
    refusal: str = ""
    group: int | None = None
    start: int = 0
    unknown: str = ""


Asked_contra = TypeVar("Asked_contra", contravariant=True)
Made = TypeVar("Made")


class Backend(Protocol[Asked_contra, Made, Index]):
    """An accelerator, or a library of kernels for the CPU, that runs operators.

    An accelerator makes offers for a DivisionTask and compiles it to a Plan. A library makes offers
    for the operators of a graph, and compiles each to a kernel. It makes none for an allocation's
    operators, given by their index in the network, or in the residual graph for later backends.
    """

    @property
    def name(self) -> str:
        """Its name, unique among the backends; an accelerator's has its family's name."""

    def offers(self, asked: Asked_contra, allocation: Allocation[Index]) -> Mapping[Index, Offer]:
        """Return the offer for each operator, by index, except those of an allocation.

        An operator that disappears in others has no offer.
        """

    def compile(self, asked: Asked_contra, allocation: Allocation[Index]) -> Made:
        """Compile all operators that it offers to run, except those of an allocation.

        RefusalError if that is impossible.
        """

    def files(self, plans: Sequence[Made]) -> ProjectFiles:
        """Return the files that projects need for its compiled operators."""


class Family(Protocol):
    """A family of accelerators, for the registry, boards and `ethosgen doctor`."""

    @property
    def accelerators(self) -> Mapping[str, Accelerator]:
        """Its accelerators by name, in display order."""

    @property
    def default(self) -> str:
        """The accelerator used if neither the user nor a board nor a compiled file names one."""

    @property
    def packages(self) -> Sequence[str]:
        """The packages that it needs, with their names in package registries."""

    def objection(self, accelerator: Accelerator, memory_mode: str) -> str:
        """Return the reason why an accelerator does not support a memory mode, "" if it does."""


class Compiler(Backend[DivisionTask, Plan, OperatorIndex], Protocol):
    """A family's compiler, for plans, and for verdicts and reports that name it."""

    @property
    def compiler(self) -> str:
        """Its compiler's name."""

    @property
    def start_cycles(self) -> int:
        """The CPU's estimated cycles for the start of a partition."""

    def compiler_version(self) -> str:
        """Return the installed compiler's version, "" if there is none."""

    def operators(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """Return its operators: product → operator → types, () if the compiler names none."""

    @property
    def compiled_operators(self) -> Mapping[str, int]:
        """The custom operators of networks that its compiler made.

        Each has the number of its first inputs that are not tensors.
        """

    def compiled_for(self, network: Network) -> Accelerator | None:
        """Return the accelerator for which its compiler compiled a network, None if it did not."""

    def errata(self, task: DivisionTask, oracle: str) -> Allocation[OperatorIndex]:
        """Return the operators that stay because their results differ from an oracle's."""


class Simulation(Protocol):
    """The functional model of a family: for verdicts, targets, profiles and reports."""

    @property
    def simulated(self) -> str:
        """The products that its simulator covers, for messages."""

    def runner(self, plan: Plan, trace: Trace | None = None) -> Runner:
        """Return a simulator of a plan's partitions, which reports its operations to `trace`."""

    def attach(self, accelerator: Accelerator) -> Attach:
        """Return a function that attaches a simulator to a target's register page."""

    def serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        """Simulate an accelerator for a program on this machine, until the program ends."""

    def operations(self, plan: Plan, partition: Partition) -> Sequence[NpuOperation]:
        """Return a partition's operations, with the simulator's estimate of their cycles."""

    def timeline(self, plan: Plan, partition: Partition) -> NpuTimeline:
        """Return the estimated times of a partition's operations, and the bytes that they use."""

    def counts_memory(self, accelerator: Accelerator, memory_mode: str) -> bool:
        """Return whether the simulator's cycles include the time of a mode's memories."""


class Driver(Protocol):
    """An accelerator's facts for firmware, for projects and for readers of its counters."""

    def events(self, accelerator: Accelerator) -> Mapping[int, str]:
        """Return the names of the events that firmware may count, by their numbers there."""

    def firmware_facts(
        self,
        accelerator: Accelerator,
        memories: BoardMemories,
        platform: str,
        partitions: Sequence[Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return a firmware's values for the templates.

        `partitions` are the facts of all networks' partitions. UnsupportedError without a driver.
        """

    def partition_facts(
        self, plan: Plan, partition: Partition, ports: Mapping[str, int], arena_bytes: int
    ) -> Mapping[str, Any]:
        """Return a partition's values for the templates.

        `ports` maps each part of the firmware to the accelerator's port of its memory.
        """


class Inspection(Protocol):
    """The commands of compiled networks: for `ethosgen disasm`."""

    def listings(
        self, source: Network | bytes, name: str, accelerator: Accelerator | None, watch: Watch
    ) -> list[Listing]:
        """List the commands of a network, compiled or not, or of another file of the compiler.

        Without `accelerator`, the source's accelerator or the default is used.
        """


class AcceleratorBackend(Family, Compiler, Simulation, Driver, Inspection, Protocol):
    """A family of accelerators: devices with a memory interface, which can be simulated.

    Each part has its own callers; only the registry needs the whole.
    """


@dataclass(frozen=True)
class Chain:
    """One operation of a user's accelerator: its operators, "RELU6?" if optional, and its call.

    `steps` is the declared difference from TensorFlow Lite Micro. `limits` are the whole numbers in
    its predicates and formulas: what it computes may change there.
    """

    number: int
    members: tuple[str, ...]
    dtypes: tuple[str, ...]
    call: str
    steps: float = 0.0
    limits: tuple[int, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        """The operators, optional or not."""
        return tuple(member.removesuffix("?") for member in self.members)


class ProgramRunner(Runner, Protocol):
    """A runner that may have started a program."""

    def device_cycles(self, partition: Partition, inputs: Arrays) -> int | None:
        """Run one partition, and return the cycles that its device's model counts for it.

        None without a model, or if it counts none.
        """

    def close(self) -> None:
        """End the program."""


@dataclass(frozen=True)
class AcceleratorCall:
    """A call of a wrapped accelerator: the number of its operation, and its terms."""

    number: int
    terms: Mapping[str, object]


class Wrapped(Backend[Plan, Plan, ResidualIndex], Protocol):
    """An accelerator that a user describes: it takes operators of a plan that are on the CPU.

    Its offers and allocations are by the operators of the plan's residual graph.
    """

    @property
    def title(self) -> str:
        """A description in a few words."""

    @property
    def is_library(self) -> bool:
        """Whether it is C on the CPU, used only where it is cheaper than our kernels."""

    @property
    def devices(self) -> Sequence[Device]:
        """Its instances, with registers, interrupt and model; none if it is only C."""

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Its operations, in the order of its file."""

    def lowered_by(self, lower: LowerToC) -> "Wrapped":
        """Return it with the function that makes C of its class's PrimFuncs."""

    def beside(self, has_helium: bool) -> "Wrapped":
        """Return it for a processor with or without Helium: costs may differ."""

    def only(self, number: int, has_cache: bool = True, is_watched: bool = True) -> "Wrapped":
        """Return it with one of its operations.

        `has_cache` puts a data cache between a device and its driver; `is_watched` compiles its C
        and its model's with sanitizers, where the compiler has them.
        """

    def allowing(self, steps: float) -> "Wrapped":
        """Return it with operations whose results differ from TFLite Micro's by up to `steps`."""

    @property
    def is_simulated(self) -> bool:
        """Whether its partitions run on this machine; else our kernels stand in for them."""

    def runner(self, plan: Plan) -> ProgramRunner:
        """Return a runner for its partitions of a plan on this machine."""

    def facts_of(self, partition: Partition) -> AcceleratorCall:
        """Return the operation and the terms of the call of one of its partitions."""
