"""The request for a firmware: its networks, its board, and the options for both."""

from dataclasses import dataclass
from pathlib import Path

from ethosgen.values.plan import EXACT, IoStyle, OffloadOptions
from ethosgen.values.security import Security
from ethosgen.values.source import AS_GIVEN, ReadOptions


@dataclass(frozen=True)
class Recipe:
    """A firmware as requested; None stands for a default that the board or the network gives.

    `names` has a name for each of `networks`, or none. `npu` is a configuration or NO_NPU. Without
    a `board`, a library is for any board that has the NPU. `accelerators` are users' own, by name
    or folder, in order of priority. `app` is the application that the project also gets, and
    `labels` a file that names its network's classes. `security` is the state in which it runs, on a
    board with TrustZone. `apart` puts the weights into files apart from the code.
    """

    networks: tuple[Path, ...]
    board: str | None = None
    npu: str | None = None
    names: tuple[str, ...] = ()
    io: IoStyle = IoStyle.ARENA
    platform: str = "baremetal"
    memory_mode: str | None = None
    options: OffloadOptions = EXACT
    reading: ReadOptions = AS_GIVEN
    accelerators: tuple[str, ...] = ()
    app: str | None = None
    labels: Path | None = None
    sram_limit: int | None = None
    """The bytes of SRAM that the networks may take; the fastest configuration is chosen."""
    security: Security = Security.SECURE
    apart: bool = False
