"""The NPU configurations, as Vela and Arm's driver name them."""

from dataclasses import dataclass

from ethosgen.errors import InputError, UnsupportedError


@dataclass(frozen=True)
class Accelerator:
    """One Ethos-U configuration.

    `id_word` and `config_word` are the reset values of the ID and CONFIG registers (Arm core driver
    1.0.0, and Vela's OPTIMIZER_CONFIG words).
    """

    name: str
    product: str
    macs: int
    cores: int
    shram_kib: int
    id_word: int

    @property
    def config_word(self) -> int:
        """CONFIG: log2 MACs [3:0], cmd_stream_version [7:4], SHRAM KiB [15:8], product [31:28]."""
        product = {"u55": 0, "u65": 1}[self.product]
        macs_log2 = self.macs.bit_length() - 1
        return macs_log2 | self.shram_kib << 8 | product << 28

    @property
    def vela_architecture(self) -> str:
        """The name that Regor knows the product by, for instance EthosU55."""
        return f"Ethos{self.product.upper()}"


_ID_U55 = 0x10104201
_ID_U65 = 0x10066001

ACCELERATORS: dict[str, Accelerator] = {
    accelerator.name: accelerator
    for accelerator in (
        Accelerator("ethos-u55-32", "u55", 32, 1, 16, _ID_U55),
        Accelerator("ethos-u55-64", "u55", 64, 1, 16, _ID_U55),
        Accelerator("ethos-u55-128", "u55", 128, 1, 24, _ID_U55),
        Accelerator("ethos-u55-256", "u55", 256, 1, 48, _ID_U55),
        Accelerator("ethos-u65-256", "u65", 256, 1, 48, _ID_U65),
        Accelerator("ethos-u65-512", "u65", 512, 2, 96, _ID_U65),
    )
}

NOT_COMPILED_FOR = tuple(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048))
"""NPUs that boards have and that this version cannot compile for."""

DEFAULT_NPU = "ethos-u55-128"
"""What is assumed where neither the user nor a board nor a compiled file says it."""


NO_NPU = "none"
"""What a user says instead of an NPU's name, so that the whole network runs on the CPU."""


def find_accelerator(name: str) -> Accelerator:
    """Return the accelerator of that name; InputError lists the known ones.

    UnsupportedError for one that exists and that this version cannot compile for.
    """
    if name in NOT_COMPILED_FOR:
        raise UnsupportedError(
            f"this version cannot compile for {name}; --npu {NO_NPU} runs the network on the CPU"
        )
    try:
        return ACCELERATORS[name]
    except KeyError:
        known = ", ".join(ACCELERATORS)
        raise InputError(f"unknown NPU '{name}'; choose one of: {known}") from None
