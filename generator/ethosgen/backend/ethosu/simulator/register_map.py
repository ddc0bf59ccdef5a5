"""The differences between the generations' registers: Arm's ethosu55_, 65_ and 85_interface.h.

Everything else is the same: offsets of the control registers and the base pointers, the bits of
STATUS and CMD, and the PMU's registers among themselves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ethosgen.backend.ethosu.accelerator import EthosU
from ethosgen.backend.ethosu.pmu_event import NOT_ON_U85, PmuEvent

MEM_ATTR0 = 0x040
"""U85 only: the first of four sets of attributes, with axi_port in bit 2."""

STATUS_BUS_STATUS = 1 << 2
STATUS_CMD_PARSE_ERROR = 1 << 4
STATUS_WD_FAULT = 1 << 7
"""The weight decoder's fault; U85 has none, and the bit is reserved there."""
STATUS_BRANCH_FAULT = 1 << 9
"""U85 only, which alone has branches."""

FAULT_BITS = {
    "bus": STATUS_BUS_STATUS,
    "parse": STATUS_CMD_PARSE_ERROR,
    "weights": STATUS_WD_FAULT,
    "timeout": STATUS_CMD_PARSE_ERROR,
    "branch": STATUS_BRANCH_FAULT,
}
"""STATUS by the kind of fault. If the model stops a stream that an NPU would continue, it is that
of an invalid stream, so that the firmware gets an error."""

Read = Callable[[int], int]
"""Reads the register word at a byte offset."""


def _limit_port(_read: Read, index: int) -> int:
    """Return the AXI port of one of four sets of limits; the latter two are port 1's."""
    return index >> 1


def _attribute_port(read: Read, index: int) -> int:
    """Return the kind of AXI port that one of U85's MEM_ATTR selects: 0 is SRAM, 1 external."""
    return read(MEM_ATTR0 + 4 * index) >> 2 & 1


@dataclass(frozen=True)
class RegisterMap:
    """The registers of one product, where they differ from another's."""

    address_bits: int
    beat_bytes: int
    """The width of an AXI port."""
    pmu: int = 0
    """Offset of the PMU's registers from where U55 has them."""
    counters: int = 4
    """Event counters of the PMU."""
    fault_bits: Mapping[str, int] = field(default_factory=lambda: FAULT_BITS)
    port: Callable[[Read, int], int] = _limit_port
    """The port of a value in QCONFIG or REGIONCFG, for STATUS's faulting_interface and the PMU."""
    lacks: frozenset[PmuEvent] = frozenset()
    """Events of the others."""


_MAPS = {
    "u55": RegisterMap(address_bits=32, beat_bytes=8),
    "u65": RegisterMap(address_bits=40, beat_bytes=16),
    "u85": RegisterMap(
        address_bits=40,
        beat_bytes=16,  # vela.ini: two ports to SRAM at 500 MHz carry 16 GB/s
        pmu=0x1000,
        counters=8,
        fault_bits=FAULT_BITS | {"weights": STATUS_CMD_PARSE_ERROR},
        port=_attribute_port,
        lacks=NOT_ON_U85,
    ),
}


def register_map(accelerator: EthosU) -> RegisterMap:
    """Return the registers of an NPU."""
    return _MAPS[accelerator.product]
