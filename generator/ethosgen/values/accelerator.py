"""An accelerator for the stages: its name, and the facts for boards and simulators."""

from dataclasses import dataclass, field

from ethosgen.values.device import PAGE_BYTES

NO_NPU = "none"
"""The name that selects no NPU: the whole network runs on the CPU."""


@dataclass(frozen=True)
class Accelerator:
    """One configuration of an NPU, as --npu and boards name it; its backend derives its own.

    `family` is the name of the backend that compiles for it. `product` is the part of the family,
    by which a board lists its FVPs, and `macs` the size for an FVP.
    """

    name: str
    product: str
    macs: int
    family: str = field(kw_only=True)
    register_bytes: int = field(default=PAGE_BYTES, kw_only=True)
    """The size of its registers, in whole pages."""
    has_simulator: bool = field(default=True, kw_only=True)
    """Whether its backend can run partitions on this machine."""
