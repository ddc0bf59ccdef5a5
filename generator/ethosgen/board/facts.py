"""The tables of a board file: each class is one, each field documented, for editors too."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ethosgen.backend.ethosu.accelerator import ACCELERATORS, WITHOUT_MODEL

MemoryMode = Literal["sram_only", "shared_sram", "dedicated_sram"]

DEFAULT_MEMORY_MODE: MemoryMode = "shared_sram"
"""Weights stay where the NPU only reads; every board can do it."""

BAREMETAL_UARTS = ("cmsdk", "dw")
"""UARTs that there is a templates/baremetal/board/console_NAME.c for."""

Addr = Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4)]
Size = Annotated[int, Field(gt=0, le=1 << 32)]
Irq = Annotated[int, Field(ge=0, lt=480)]
Hz = Annotated[int, Field(gt=0)]
Command = Annotated[list[str], Field(min_length=1)]


class Facts(BaseModel):
    """A table of a board file: unknown fields are faults, and "56" is no number."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class Cpu(Facts):
    """The processor."""

    core: Literal["cortex-m33", "cortex-m52", "cortex-m55", "cortex-m85"]
    """Its name in lower case."""
    mve: bool | None = None
    """Whether it has Helium (MVE); without this, what the core usually has."""
    mve_float: bool = True
    """Whether its Helium has floating-point numbers too, if it has one."""
    fpu: Literal["none", "single", "double"] | None = None
    """Its floating-point unit; without this, what the core usually has."""
    icache: bool = False
    """Whether start-up turns an instruction cache on."""
    dcache: bool = False
    """Whether start-up turns a data cache on; the firmware then keeps it coherent with the NPU."""
    clock_hz: Hz | None = None
    """What the processor runs at."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.core == "cortex-m33" and self.mve:
            raise ValueError("mve: a cortex-m33 has none")
        if self.core == "cortex-m33" and (self.icache or self.dcache):
            raise ValueError("dcache: a cortex-m33 has no caches of its own")
        return self

    @property
    def has_mve(self) -> bool:
        """Whether code may use vector registers."""
        return self.core != "cortex-m33" if self.mve is None else self.mve

    @property
    def gcc_cpu(self) -> str:
        """What follows -mcpu= where the compiler knows the core."""
        return self.core + "".join(self._extensions())

    @property
    def gcc_older_arch(self) -> str | None:
        """What follows -march= where it does not know the core, None if every GCC does.

        GCC knows cortex-m85 from version 13 on and cortex-m52 from 14 on.
        """
        if self.core in ("cortex-m33", "cortex-m55"):
            return None
        has_fpu = self.fpu != "none"
        mve = [] if not self.has_mve else ["+mve.fp" if has_fpu and self.mve_float else "+mve"]
        fpu = {"none": [], "single": ["+fp"]}.get(self.fpu or "double", ["+fp.dp"])
        return "armv8.1-m.main+dsp" + "".join((*mve, *fpu))

    @property
    def gcc_float_abi(self) -> str:
        """What follows -mfloat-abi=."""
        return "soft" if self.fpu == "none" and not self.has_mve else "hard"

    def _extensions(self) -> Iterator[str]:
        """Yield what is switched off for GCC: by default it takes a core to have everything."""
        if self.fpu == "none":
            yield "+nofp"
        if self.core == "cortex-m33":
            return
        if not self.has_mve:
            yield "+nomve"
        elif not self.mve_float and self.fpu != "none":
            yield "+nomve.fp"


class OtherNpu(Facts):
    """One more NPU of the chip, that the generated firmware leaves alone."""

    configuration: str
    """Its name."""
    base_addr: Addr
    """Address of its registers."""
    irq: Irq
    """Its interrupt at this processor."""


class Npu(Facts):
    """Where the NPU is, which configurations the board comes in, and which level it runs at."""

    default: str
    """The configuration that is meant without --npu."""
    configurations: list[str] = Field(min_length=1)
    """All that the board comes in, for instance "ethos-u55-128"."""
    base_addr: Addr | None = None
    """Address of its registers; left out where it is not known."""
    irq: Irq | None = None
    """Its interrupt; left out where it is not known."""
    secure: bool
    """Whether it runs in secure state."""
    privileged: bool
    """Whether it runs at privileged level."""
    others: list[OtherNpu] = []
    """More NPUs of the chip."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = (*ACCELERATORS, *WITHOUT_MODEL)
        for name in (*self.configurations, *(other.configuration for other in self.others)):
            if name not in known:
                raise ValueError(
                    f"configurations: '{name}' is no NPU; known are: {', '.join(known)}"
                )
        if self.default not in self.configurations:
            raise ValueError(f"default: '{self.default}' is not among configurations")
        return self


MemoryName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""As it stands in linker scripts."""


class Memory(Facts):
    """One memory as the processor sees it."""

    start_addr: Addr
    """The first address."""
    size_bytes: Size
    """How much there is."""
    kind: Literal["tcm", "sram", "dram", "flash"]
    """What it is; flash stands for MRAM and RRAM too, and only a tcm is never cached."""
    access: Literal["r", "rx", "rw", "rwx"]
    """What the processor may do."""
    npu_port: Literal[0, 1] | None = None
    """The NPU's AXI port that reaches it; left out where none does. Port 1 of a U55 only reads."""
    npu_start_addr: Addr | None = None
    """The first address as the NPU sees it, where that is another."""

    @property
    def end_addr(self) -> int:
        """The first address behind it."""
        return self.start_addr + self.size_bytes


class Placement(Facts):
    """The memory of each part of a firmware, by name, in one memory mode."""

    code: str
    """Vectors, instructions and constants."""
    data: str
    """Variables and the stack."""
    arena: str
    """The network's tensors."""
    io: str
    """Buffers that the application owns (--io caller)."""
    commands: str
    """Command streams, which the NPU fetches."""
    weights: str
    """Weights and other constants of the network."""
    fast: str | None = None
    """In dedicated_sram, the SRAM that is the NPU's own."""
    copied_from: str | None = None
    """Where commands and weights lie without power, if start-up copies them from there."""

    def npu_parts(self) -> dict[str, str]:
        """Return the memory of each part that the NPU touches."""
        parts = {
            "arena": self.arena,
            "io": self.io,
            "commands": self.commands,
            "weights": self.weights,
        }
        return parts if self.fast is None else {**parts, "fast": self.fast}


class RegisterWrite(Facts):
    """One access: bits to clear, then bits to set."""

    addr: Addr
    """The register."""
    clear: Annotated[int, Field(ge=0, lt=1 << 32)] = 0
    """Bits that become 0."""
    set: Annotated[int, Field(ge=0, lt=1 << 32)] = 0
    """Bits that become 1."""
    why: str
    """What for; it becomes a comment."""


class ConsoleFacts(Facts):
    """The UART that carries the protocol."""

    uart: Literal["cmsdk", "dw", "lpuart", "sci_b", "scb"]
    """Arm CMSDK, Synopsys DesignWare (16550), NXP LPUART, Renesas SCI_B, Infineon SCB."""
    base_addr: Addr | None = None
    """Address of its registers; left out where it is not known."""
    rx_irq: Irq | None = None
    """The interrupt of received bytes; left out where it is not known."""
    clock_hz: Hz | None = None
    """What its divider divides; left out where it is not known."""
    baud: Hz
    """Bits a second on the line."""
    setup: list[RegisterWrite] = []
    """What must be done before it works: clocks, pins."""


class Counter(Facts):
    """What the firmware measures time with: it starts by bit 0 of its control register."""

    kind: Literal["sse300", "dwt"] = "sse300"
    """The system counter of an SSE-300 (CNTCR, CNTCV), or the processor's DWT (CTRL, CYCCNT)."""
    control_addr: Addr
    """CNTCR or DWT_CTRL."""
    value_addr: Addr
    """The low word of CNTCV, or DWT_CYCCNT."""
    hz: Hz
    """Its rate."""


class Bell(Facts):
    """The UART that stands for the NPU's interrupt line on QEMU."""

    base_addr: Addr
    """Address of its registers."""
    rx_irq: Irq
    """The interrupt of received bytes."""
    serial: int = Field(ge=1, le=5)
    """QEMU's number of it."""


class Qemu(Facts):
    """How QEMU runs the board, and which of its memory it shares with the NPU model."""

    machine: str
    """The argument of -M."""
    memory_backend: str
    """The memory of the machine that can be a file."""
    shared_start_addr: Addr
    """Where that memory begins."""
    shared_size_bytes: Size
    """How large it is."""
    npu_memory: str
    """The memory that holds everything that the NPU touches."""
    npu_base_addr: Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4096)]
    """The page of it that is the NPU's registers: its last."""
    bell: Bell
    """What interrupts."""
    instruction_ns: Literal[1, 2, 4, 8, 16, 32, 64, 128]
    """The virtual time of one instruction (-icount)."""

    @property
    def shared_end_addr(self) -> int:
        """The first address behind the shared memory."""
        return self.shared_start_addr + self.shared_size_bytes


class Fvp(Facts):
    """Arm's Fixed Virtual Platforms of the board."""

    executables: dict[Literal["u55", "u65", "u85"], str]
    """The program for each NPU product."""
    macs_parameter: str
    """The parameter that sets the NPU's size."""
    terminal: str
    """The component that puts the console's UART onto a socket."""
    vectors_parameter: str | None = None
    """The parameter that says where the vector table is, if a firmware's may be elsewhere."""
    parameters: list[str] = []
    """More parameters, as NAME=VALUE."""
    time_limit_s: int = Field(default=300, gt=0)
    """When to give up at the latest (--timelimit)."""


class Serial(Facts):
    """The board itself, on a serial line."""

    reset: Literal["none", "dtr", "rts"] = "none"
    """The control line that resets it, pulsed before a run."""
    reset_command: Command | None = None
    """A program that resets it instead, and its arguments."""

    @model_validator(mode="after")
    def _one_reset(self) -> Self:
        if self.reset != "none" and self.reset_command is not None:
            raise ValueError("reset_command: excludes reset, and both are given")
        return self


class Flasher(Facts):
    """A tool that writes a firmware to the board."""

    command: Command
    """The program and its arguments; {elf}, {bin} and {hex} stand for the firmware's files, {jlink}
    for a script of J-Link Commander that loads it."""


class ZephyrBoard(Facts):
    """One of Zephyr's boards that is this one."""

    target: Annotated[str, Field(pattern=r"^[\w/]+$")]
    """What `west build -b` takes."""
    since: Annotated[str, Field(pattern=r"^\d+\.\d+$")]
    """The first version of Zephyr that has it."""
    before: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    """The first version that has it no more."""
    ways: list[Literal["qemu", "board"]] = Field(min_length=1)
    """What it can run on."""
    program: str | None = None
    """The memory that is Zephyr's flash, where parts of a network lie in it too."""
    program_bytes: Size | None = None
    """How much of that memory stays Zephyr's: its beginning."""

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.program is None) != (self.program_bytes is None):
            raise ValueError("program: program and program_bytes need each other")
        return self

    def exists_in(self, version: tuple[int, int]) -> bool:
        """Return whether a version of Zephyr has the board."""
        is_known = _version(self.since) <= version
        return is_known and (self.before is None or version < _version(self.before))


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


CmsisName = Annotated[str, Field(pattern=r"^[^:#\n]+::[^:#\n]+(:[^:#\n]+)?$")]
PackName = Annotated[str, Field(pattern=r"^[^:#\n]+::[^:@#\n]+(@[^\s#]+)?$")]
"""As they stand in YAML, without quotes."""


class Cmsis(Facts):
    """What CMSIS-Toolbox and Keil call the board, for --platform csolution."""

    device: CmsisName
    """VENDOR::DEVICE, and :CORE where it has several."""
    packs: list[PackName] = Field(min_length=1)
    """The packs that describe it: VENDOR::PACK, and @VERSION where it matters."""
    board: CmsisName | None = None
    """VENDOR::BOARD, where a pack describes the board too."""


class Run(Facts):
    """The ways in which the board is run; and what Zephyr calls it."""

    qemu: Qemu | None = None
    """On QEMU, with the NPU's model."""
    fvp: Fvp | None = None
    """On Arm's FVP."""
    serial: Serial | None = None
    """On a board on the desk."""
    zephyr: list[ZephyrBoard] = []
    """Boards of Zephyr that are this one, by its version."""


class BoardFacts(Facts):
    """A whole board file."""

    name: str
    """The file's name."""
    description: str
    """Its name in words."""
    unverified: list[str] = []
    """Facts of this file that nobody has checked on the board or in its manual, by their path."""
    notes: list[str] = []
    """What one must know before using it."""
    platforms: list[Literal["baremetal", "zephyr", "csolution"]] = ["baremetal"]
    """What projects can be rendered for."""
    default_memory_mode: MemoryMode = DEFAULT_MEMORY_MODE
    """The mode that is meant without --memory-mode."""
    cpu: Cpu
    """The processor that runs the firmware."""
    npu: Npu
    """The NPU that it uses."""
    memories: Mapping[MemoryName, Memory] = Field(min_length=1)
    """Memories by name."""
    placements: Mapping[MemoryMode, Placement] = Field(min_length=1)
    """For each memory mode that the board can do, where everything goes."""
    console: ConsoleFacts
    """The line to the outside."""
    counter: Counter
    """The clock."""
    run: Run = Run()
    """Ways to run it."""
    flash: Mapping[str, Flasher] = {}
    """Ways to flash it, by the tool's name."""
    cmsis: Cmsis | None = None
    """What CMSIS-Toolbox calls it."""
