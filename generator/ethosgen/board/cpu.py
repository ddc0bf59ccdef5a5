"""The processor of a board: its core, and the compiler's options for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import Field, model_validator

from ethosgen.board.fields import Hz, RegisterWrite
from ethosgen.toml.tables import Table
from ethosgen.values.extension import Extension

CoreName = Literal[
    "cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33",
    "cortex-m52", "cortex-m55", "cortex-m85", "aarch64",
]  # fmt: skip


@dataclass(frozen=True)
class Core:
    """A core's features by default, or at most.

    `arch` is GCC's name for its architecture. Not every GCC knows a core that `is_new`. A core that
    `may_lack_dsp` has DSP instructions as an option.
    """

    arch: str
    fpu: Literal["none", "single", "double"] = "none"
    has_dsp: bool = False
    may_lack_dsp: bool = False
    has_mve: bool = False
    has_caches: bool = False
    is_new: bool = False


_HELIUM = Core("armv8.1-m.main", "double", has_dsp=True, has_mve=True, has_caches=True)

CORES: Mapping[CoreName, Core] = {
    "cortex-m0": Core("armv6s-m"),
    "cortex-m0plus": Core("armv6s-m"),
    "cortex-m3": Core("armv7-m"),
    "cortex-m4": Core("armv7e-m", "single", has_dsp=True),
    "cortex-m7": Core("armv7e-m", "double", has_dsp=True, has_caches=True),
    "cortex-m33": Core("armv8-m.main", "single", has_dsp=True, may_lack_dsp=True),
    "cortex-m52": replace(_HELIUM, is_new=True),
    "cortex-m55": _HELIUM,
    "cortex-m85": replace(_HELIUM, is_new=True),
    "aarch64": Core("armv8-a", "double"),
}
"""The cores that a board may have."""


class Power(Table):
    """The published power of a computing processor, for estimates of energy."""

    current_a: float = Field(gt=0)
    """Its supply current in amperes, at the clock rate of the board file."""
    supply_v: float = Field(gt=0)
    """The supply voltage at which it was measured."""
    source: str = Field(min_length=1)
    """The public document that states it, and the conditions."""

    @property
    def watts(self) -> float:
        """The power."""
        return self.current_a * self.supply_v


class Cpu(Table):
    """The processor."""

    core: CoreName
    """The core's name in lower case; aarch64 is any 64-bit Arm core, for Linux."""
    dsp: bool | None = None
    """Whether it has the DSP instructions [default: as the core usually has]."""
    mve: bool | None = None
    """Whether it has Helium (MVE) [default: as the core usually has]."""
    mve_float: bool = True
    """Whether its Helium, if any, supports floating point."""
    fpu: Literal["none", "single", "double"] | None = None
    """Its floating-point unit [default: as the core usually has]."""
    icache: bool = False
    """Whether start-up enables an instruction cache."""
    dcache: bool = False
    """Whether start-up enables a data cache; the firmware then keeps it coherent with the NPU."""
    clock_hz: Hz | None = None
    """The processor's clock rate."""
    power: Power | None = None
    """Its power; omit the table if no public document states it."""
    boot: Literal["rp2040", "rp2350"] | None = None
    """The chip whose boot ROM needs more than vectors: an RP2040 a second stage in a memory boot2,
    an RP2350 a block that describes the program."""
    setup: list[RegisterWrite] = Field(default=[])
    """Register writes that start-up makes first: clocks, voltage, the flash's wait states."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        core = CORES[self.core]
        if self.mve and not core.has_mve:
            raise ValueError(f"mve: a {self.core} has no Helium; delete the line")
        if (self.icache or self.dcache) and self.core == "aarch64":
            raise ValueError("dcache: Linux manages the caches of an aarch64; delete the line")
        if (self.icache or self.dcache) and not core.has_caches:
            raise ValueError(f"dcache: a {self.core} has no data cache; delete the line")
        if self.fpu not in (None, "none") and core.fpu == "none":
            raise ValueError(f"fpu: a {self.core} has no floating-point unit; delete the line")
        if self.dsp is not None and self.dsp != core.has_dsp and not core.may_lack_dsp:
            has = "always has" if core.has_dsp else "has no"
            raise ValueError(f"dsp: a {self.core} {has} DSP instructions; delete the line")
        if self.dsp is False and self.has_mve:
            raise ValueError("dsp: a core with Helium has DSP instructions; delete the line")
        return self

    @property
    def has_mve(self) -> bool:
        """Whether code may use vector registers."""
        return CORES[self.core].has_mve if self.mve is None else self.mve

    @property
    def has_dsp(self) -> bool:
        """Whether code may use the DSP instructions, such as SMLAD."""
        return CORES[self.core].has_dsp if self.dsp is None else self.dsp

    @property
    def extension(self) -> Extension:
        """The instructions that decide between kernels."""
        if self.has_mve:
            return Extension.HELIUM
        if self.has_dsp:
            return Extension.DSP
        if self.core == "aarch64":
            return Extension.NONE
        return Extension.THUMB if self.is_baseline else Extension.THUMB2

    @property
    def has_fpu(self) -> bool:
        """Whether it has a floating-point unit."""
        return (self.fpu or CORES[self.core].fpu) != "none"

    @property
    def is_baseline(self) -> bool:
        """Whether it is an Armv6-M: it needs a library to divide, and has one kind of fault."""
        return CORES[self.core].arch == "armv6s-m"

    @property
    def processor_options(self) -> Mapping[str, str]:
        """CMSIS-Toolbox's options for units that this core lacks and others of its kind have."""
        core = CORES[self.core]
        lacks = {
            "fpu": core.fpu != "none" and not self.has_fpu,
            "dsp": core.may_lack_dsp and not self.has_dsp,
            "mve": core.has_mve and not self.has_mve,
        }
        return {name: "off" for name, is_off in lacks.items() if is_off}

    @property
    def has_stack_limit(self) -> bool:
        """Whether it has the register MSPLIM."""
        return CORES[self.core].arch.startswith("armv8")

    @property
    def gcc_cpu(self) -> str:
        """The argument of -mcpu=, for compilers that know the core."""
        return self.core + "".join(self._extensions())

    @property
    def gcc_older_arch(self) -> str | None:
        """The argument of -march= for compilers that do not know the core, None if every GCC does.

        GCC knows cortex-m85 from version 13 on and cortex-m52 from 14 on.
        """
        if not CORES[self.core].is_new:
            return None
        mve = [] if not self.has_mve else ["+mve.fp" if self.has_fpu and self.mve_float else "+mve"]
        fpu = {"none": [], "single": ["+fp"]}.get(self.fpu or "double", ["+fp.dp"])
        return CORES[self.core].arch + "+dsp" + "".join((*mve, *fpu))

    @property
    def gcc_float_abi(self) -> str:
        """The argument of -mfloat-abi=."""
        return "hard" if self.has_fpu or self.has_mve else "soft"

    def _extensions(self) -> Iterator[str]:
        """Yield the extensions to disable: by default GCC assumes that a core has all of them."""
        core = CORES[self.core]
        if not self.has_fpu and core.fpu != "none":
            yield "+nofp"
        elif self.core == "cortex-m7" and self.fpu == "single":
            yield "+nofp.dp"
        if not self.has_dsp and core.may_lack_dsp:
            yield "+nodsp"
        if not core.has_mve:
            return
        if not self.has_mve:
            yield "+nomve"
        elif not self.mve_float and self.has_fpu:
            yield "+nomve.fp"
