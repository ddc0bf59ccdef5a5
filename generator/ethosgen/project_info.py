"""A project on disk, as its manifest tells it: what building and running it need to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ethosgen.board import DEFAULT_MEMORY_MODE, Board
from ethosgen.model import Tensor
from ethosgen.plan import IoStyle, PlanSummary


@dataclass(frozen=True)
class ProjectInfo:
    """A project's facts; inputs and outputs are in the network's order.

    `npu` is NO_NPU for a network that is wholly on the CPU.
    `files` maps each file of the library to the SHA-256 that it was written with.
    """

    directory: Path
    name: str
    board: Board
    npu: str
    summary: PlanSummary
    io: IoStyle
    digest: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    arena_bytes: int
    model_path: Path
    files: Mapping[str, str] = field(repr=False)
    platform: str = "baremetal"
    memory_mode: str = DEFAULT_MEMORY_MODE
