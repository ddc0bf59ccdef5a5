"""The FVPs: each one's board, its NPU, and the names of its components."""

from dataclasses import dataclass

from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown


@dataclass(frozen=True)
class FixedPlatform:
    """An FVP.

    `board` is ours, `family` the NPU's product, `macs` its sizes, the default first. `prefix` names
    the board's components, `subsystem` precedes those of processor and NPU. `vectors` is the
    address of the processor's vectors at reset, None for QEMU's. `added` are memories that QEMU's
    machine lacks, as arguments of memories.c. `fast_models` is the version of Arm's Fast Models
    that the FVP says it is.
    """

    name: str
    board: str
    family: str
    macs: tuple[int, ...]
    prefix: str
    subsystem: str = ""
    vectors: int | None = None
    added: tuple[str, ...] = ()
    fast_models: str = "11.24.13"

    def npu(self, macs: int) -> str:
        """Return the NPU with this many MACs; InputError if this FVP has none."""
        if macs not in self.macs:
            sizes = ", ".join(map(str, sorted(self.macs)))
            raise InputError(f"{self.name} has no NPU with num_macs={macs}; it has: {sizes}")
        return f"ethos-{self.family}-{macs}"


_U55 = (128, 32, 64, 256)
_U65 = (256, 512)
_U85 = (256, 128, 512, 1024, 2048)
_BOOT = 0x11000000
_MPS4 = "mps4_board.subsystem."
_MPS4_ADDED = ("ram=0x02000000:0x200000", "alias=0x48200000:0x10000:0x49300000")
"""The memory for code and data, and the board's UARTs, which a MPS3 board has elsewhere."""
_MPS4_MODELS = "11.27.25"

PLATFORMS = {
    platform.name: platform
    for platform in (
        FixedPlatform("FVP_Corstone_SSE-300_Ethos-U55", "corstone300", "u55", _U55, "mps3_board"),
        FixedPlatform("FVP_Corstone_SSE-300_Ethos-U65", "corstone300", "u65", _U65, "mps3_board"),
        FixedPlatform(
            "FVP_Corstone_SSE-310",
            "corstone310",
            "u55",
            (256, 32, 64, 128),
            "mps3_board",
            vectors=_BOOT,
        ),
        FixedPlatform(
            "FVP_Corstone_SSE-310_Ethos-U65",
            "corstone310",
            "u65",
            _U65,
            "mps3_board",
            vectors=_BOOT,
        ),
        FixedPlatform(
            "FVP_Corstone_SSE-315",
            "corstone315",
            "u65",
            _U65,
            "mps4_board",
            _MPS4,
            _BOOT,
            added=_MPS4_ADDED,
            fast_models=_MPS4_MODELS,
        ),
        FixedPlatform(
            "FVP_Corstone_SSE-320",
            "corstone320",
            "u85",
            _U85,
            "mps4_board",
            _MPS4,
            _BOOT,
            added=_MPS4_ADDED,
            fast_models=_MPS4_MODELS,
        ),
    )
}
"""Sources: Arm's Corstone SSE-300, -310, -315 and -320 FVP Technical Overviews; for the default of
num_macs, the configuration files of Arm's ML examples (mlek-cmsis-pack-examples); for the versions,
those with which Zephyr tested its boards: Arm's ethos-u-core-platform accepts only 11.16, 11.22 and
11.24 of an MPS3 board's."""


def find_platform(name: str) -> FixedPlatform:
    """Return the FVP of a name; InputError lists the known ones."""
    if name not in PLATFORMS:
        raise InputError(unknown("FVP", name, PLATFORMS))
    return PLATFORMS[name]
