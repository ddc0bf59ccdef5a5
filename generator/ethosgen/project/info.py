"""A project on disk, as its manifest describes it, for building and running it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ethosgen.board import DEFAULT_MEMORY_MODE, Board
from ethosgen.values.advice import Improvement
from ethosgen.values.device import Device
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import nearest
from ethosgen.values.network import Tensor
from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions, PlanSummary
from ethosgen.values.profile import ProgramStep
from ethosgen.values.source import AS_GIVEN, ReadOptions
from ethosgen.values.time import CpuTime


@dataclass(frozen=True)
class ApartInfo:
    """A network's weights apart from the code: their file, and its requirements.

    `code` is the digest of the network's code, `scratches` the bytes of the NPU's scratches by
    name; `alignment` is the file's, in bytes.
    """

    file: Path
    code: str
    scratches: Mapping[str, int]
    alignment: int


@dataclass(frozen=True)
class NetworkInfo:
    """A network's facts; inputs and outputs are in the network's order.

    `parts` are the bytes that it puts into each memory, by the placement's names. `options` are
    those of its creation. `source` is the copy of the user's file in the project.
    """

    name: str
    summary: PlanSummary
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    parts: Mapping[str, int]
    source: Path
    format: str
    options: OffloadOptions = EXACT
    reading: ReadOptions = AS_GIVEN
    steps: tuple[ProgramStep, ...] = ()
    """The calls of its C code; () in a project of an ethosgen without profiles."""
    weights: ApartInfo | None = None
    """Its weights, if they are apart from the code."""
    cpu_time: CpuTime | None = None
    advice: tuple[Improvement, ...] = ()
    """The CPU's share of an inference by stored costs; None in a project of an older ethosgen."""


@dataclass(frozen=True)
class ProjectInfo:
    """A project's facts.

    `npu` is NO_NPU for networks that run entirely on the CPU. `files` maps each file of the library
    to the SHA-256 of its generated content.
    """

    directory: Path
    networks: tuple[NetworkInfo, ...]
    board: Board
    npu: str
    io: IoStyle
    digest: str
    files: Mapping[str, str] = field(repr=False)
    platform: str = "baremetal"
    memory_mode: str = DEFAULT_MEMORY_MODE
    accelerators: tuple[Path, ...] = ()
    """The folders of users' accelerators, in the library."""
    devices: tuple[Device, ...] = ()
    """Devices besides the NPU, in the order of their names."""
    app: str | None = None
    """The name of the project's application in application/; None if it has none."""

    @property
    def is_apart(self) -> bool:
        """Whether weights are in files apart from the code."""
        return any(network.weights for network in self.networks)

    @property
    def names(self) -> tuple[str, ...]:
        """The networks' names."""
        return tuple(network.name for network in self.networks)

    @property
    def network(self) -> NetworkInfo:
        """The network of a project that has one, else the first."""
        return self.networks[0]

    def index(self, name: str) -> int:
        """Return a network's index; InputError names the project's networks."""
        if name not in self.names:
            raise InputError(
                f"'{self.directory}' has no network '{name}'{nearest(name, self.names)}; it has: "
                f"{', '.join(self.names)}"
            )
        return self.names.index(name)
