"""The NPU configurations, as Vela and Arm's driver name them."""

from dataclasses import dataclass, field

from ethosgen.values.accelerator import Accelerator
from ethosgen.values.device import PAGE_BYTES
from ethosgen.values.errors import InputError
from ethosgen.values.grammar import unknown


@dataclass(frozen=True)
class U85:
    """The size of an Ethos-U85; each number is a log2 (Regor's ethos_u85.cpp)."""

    sram_ports_log2: int
    external_ports_log2: int
    decoders_log2: int


FAMILY = "ethos-u"


@dataclass(frozen=True)
class EthosU(Accelerator):
    """One Ethos-U configuration.

    `id_word` and `config_word` are the reset values of the ID and CONFIG registers (Arm core driver
    1.0.0, and Vela's OPTIMIZER_CONFIG words).
    """

    cores: int
    shram_kib: int
    id_word: int
    u85: U85 | None = None
    family: str = field(default=FAMILY, kw_only=True)

    @property
    def config_word(self) -> int:
        """CONFIG: log2 MACs [3:0], cmd_stream_version [7:4], product [31:28].

        [15:8] is the SHRAM size in KiB. On U85 they are log2 values instead: AXI ports to SRAM
        [9:8], to external memory [10], weight decoders [13:12].
        """
        product = {"u55": 0, "u65": 1, "u85": 2}[self.product]
        macs_log2 = self.macs.bit_length() - 1
        if self.u85 is not None:
            ports = self.u85.sram_ports_log2 << 8 | self.u85.external_ports_log2 << 10
            return macs_log2 | 1 << 4 | ports | self.u85.decoders_log2 << 12 | product << 28
        return macs_log2 | self.shram_kib << 8 | product << 28

    @property
    def computes_in_bool(self) -> bool:
        """Whether the NPU compares, and combines bools bit by bit."""
        return self.u85 is not None

    @property
    def vela_architecture(self) -> str:
        """Regor's product name, for example EthosU55."""
        return f"Ethos{self.product.upper()}"


_ID_U55 = 0x10104201
_ID_U65 = 0x10066001
_ID_U85 = 0x20007001


def _u85(macs: int, size: U85) -> EthosU:
    """Return an Ethos-U85, whose PMU is in a second page of registers."""
    name, pages = f"ethos-u85-{macs}", 2 * PAGE_BYTES
    return EthosU(name, "u85", macs, 1, 0, _ID_U85, size, register_bytes=pages)


ACCELERATORS: dict[str, EthosU] = {
    accelerator.name: accelerator
    for accelerator in (
        EthosU("ethos-u55-32", "u55", 32, 1, 16, _ID_U55),
        EthosU("ethos-u55-64", "u55", 64, 1, 16, _ID_U55),
        EthosU("ethos-u55-128", "u55", 128, 1, 24, _ID_U55),
        EthosU("ethos-u55-256", "u55", 256, 1, 48, _ID_U55),
        EthosU("ethos-u65-256", "u65", 256, 1, 48, _ID_U65),
        EthosU("ethos-u65-512", "u65", 512, 2, 96, _ID_U65),
        _u85(128, U85(1, 0, 0)),
        _u85(256, U85(1, 0, 0)),
        _u85(512, U85(1, 0, 1)),
        _u85(1024, U85(1, 1, 2)),
        _u85(2048, U85(2, 1, 2)),
    )
}

DEFAULT_NPU = "ethos-u55-128"
"""The NPU if neither the user nor a board nor a compiled file names one."""


def find_accelerator(name: str) -> EthosU:
    """Return the Ethos-U with that name; InputError lists the known names."""
    try:
        return ACCELERATORS[name]
    except KeyError:
        raise InputError(unknown("NPU", name, ACCELERATORS)) from None
