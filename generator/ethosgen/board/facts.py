"""The tables of a board file: a class for each, with documented fields (also for editors)."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ethosgen.backend import accelerators
from ethosgen.board.cpu import Cpu
from ethosgen.board.emulation import Qemu
from ethosgen.board.fields import Addr, Command, Hz, Irq, RegisterWrite, Size
from ethosgen.board.trustzone import Trustzone
from ethosgen.platforms import BAREMETAL
from ethosgen.toml.names import BoardPlatform
from ethosgen.toml.tables import Table

MemoryMode = Literal["sram_only", "shared_sram", "dedicated_sram"]

DEFAULT_MEMORY_MODE: MemoryMode = "shared_sram"
"""Weights stay where the NPU only reads; every board supports it."""

BAREMETAL_UARTS = ("cmsdk", "dw", "nrf", "stm32", "stm32f4", "pl011", "uarte")
"""UARTs with a templates/baremetal/board/console_NAME.c."""


class OtherNpu(Table):
    """Another NPU of the chip; the generated firmware does not use it."""

    configuration: str
    """Its name."""
    base_addr: Addr
    """Address of its registers."""
    irq: Irq
    """Its interrupt number at this processor."""


class Npu(Table):
    """Address and interrupt of the NPU, its configurations on this board, its security level."""

    default: str
    """The configuration used without --npu."""
    configurations: list[str] = Field(min_length=1)
    """All configurations of the board, for example "ethos-u55-128"."""
    base_addr: Addr | None = None
    """Address of its registers; omit it if unknown."""
    irq: Irq | None = None
    """Its interrupt number; omit it if unknown."""
    secure: bool
    """Whether it runs in secure state."""
    privileged: bool
    """Whether it runs at privileged level."""
    clock_hz: Hz | None = None
    """Its clock rate; omit it if unknown."""
    timing_adapters: list[Addr] = Field(default=[])
    """Addresses of its AXI timing adapters, which FPGA images and FVPs have."""
    others: list[OtherNpu] = Field(default=[])
    """Other NPUs of the chip."""

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = accelerators()
        for name in (*self.configurations, *(other.configuration for other in self.others)):
            if name not in known:
                raise ValueError(
                    f"configurations: '{name}' is not an NPU; choose from: {', '.join(known)}"
                )
        if self.default not in self.configurations:
            raise ValueError(f"default: '{self.default}' is not in configurations")
        return self


MemoryName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The memory's name in linker scripts."""


class BoardMemory(Table):
    """One memory as the processor sees it."""

    start_addr: Addr
    """The first address."""
    size_bytes: Size
    """Its size."""
    kind: Literal["tcm", "sram", "dram", "flash"]
    """Its kind; flash includes MRAM and RRAM, and only a tcm is never cached."""
    access: Literal["r", "rx", "rw", "rwx"]
    """The processor's access rights."""
    npu_port: Literal[0, 1] | None = None
    """The NPU's AXI port that can access it; omit it if none can. A U55's port 1 is read-only."""
    npu_start_addr: Addr | None = None
    """The first address as the NPU sees it, if different."""
    cycles_per_word: Annotated[int, Field(ge=1)] = 1
    """The processor's cycles to read 4 bytes that no cache holds; 1 where nothing stalls."""
    cache_bytes: Annotated[int, Field(ge=0)] = 0
    """The size of a cache in front of it, 0 without one."""

    @property
    def end_addr(self) -> int:
        """The first address after it."""
        return self.start_addr + self.size_bytes


class FirmwarePlacement(Table):
    """The memory, by name, of each part of a firmware in one memory mode."""

    code: str
    """Vectors, instructions and constants."""
    data: str
    """Variables and the stack."""
    arena: str
    """The network's tensors."""
    io: str
    """Buffers that the application owns (--io caller)."""
    commands: str | None = None
    """Command streams, which the NPU fetches; a board without an NPU omits it."""
    weights: str
    """Weights and other constants of the network."""
    fast: str | None = None
    """In dedicated_sram, the SRAM reserved for the NPU."""
    copied_from: str | None = None
    """The non-volatile memory of commands and weights, if start-up copies them from there."""

    def npu_parts(self) -> dict[str, str]:
        """Return the memory of each part of a network, which the NPU, if any, accesses."""
        parts = {
            "arena": self.arena,
            "io": self.io,
            "commands": self.commands,
            "weights": self.weights,
            "fast": self.fast,
        }
        return {part: memory for part, memory in parts.items() if memory is not None}


class ConsoleFacts(Table):
    """The UART that carries the protocol."""

    uart: Literal[
        "cmsdk", "dw", "lpuart", "sci_b", "scb", "nrf", "stm32", "stm32f4", "pl011", "uarte"
    ]
    """Arm CMSDK, Synopsys DesignWare (16550), NXP LPUART, Renesas SCI_B, Infineon SCB, Nordic UART
    and UARTE, ST USART (stm32f4: the older one of F1, F2, F4 and L1), Arm PrimeCell PL011."""
    base_addr: Addr | None = None
    """Address of its registers; omit it if unknown."""
    rx_irq: Irq | None = None
    """Its receive interrupt; omit it if unknown."""
    clock_hz: Hz | None = None
    """The clock that its divider divides; omit it if unknown."""
    baud: Hz
    """The baud rate."""
    setup: list[RegisterWrite] = Field(default=[])
    """Register writes that it needs first: clocks, pins."""


class Counter(Table):
    """The time counter."""

    kind: Literal["sse300", "dwt", "cmsdk", "nrf", "systick"] = "sse300"
    """The system counter of an SSE-300 (CNTCR, CNTCV), the processor's DWT (CTRL, CYCCNT), a CMSDK
    timer (CTRL, VALUE), a Nordic TIMER (TASKS_START, CC[0]), or SysTick (CSR, CVR), which an
    interrupt extends to 32 bits."""
    control_addr: Addr
    """Its first register of these; bit 0 starts the counter."""
    value_addr: Addr
    """Its second register of these, for the count."""
    hz: Hz
    """Its rate."""


class LinkLine(Table):
    """A line that can join the board to another element of a pipeline: a UART, or doorbells."""

    kind: Literal["cmsdk", "mhuv2"]
    """An Arm CMSDK UART, or a pair of Arm's message handling units (MHUv2)."""
    base_addr: Addr
    """Address of its registers; of the unit that receives."""
    send_addr: Addr | None = None
    """Address of the message handling unit that sends."""
    rx_irq: Irq
    """Its receive interrupt."""
    clock_hz: Hz | None = None
    """The clock that the UART's divider divides."""
    baud: Hz | None = None
    """The UART's baud rate."""
    serial: int | None = Field(default=None, ge=1, le=5)
    """QEMU's number for it, if QEMU has it."""
    is_combined: bool = False
    """Whether rx_irq also reports that a byte was sent."""
    tx_irq: Irq | None = None
    """The UART's transmit interrupt, if rx_irq does not report that a byte was sent."""

    @property
    def reports_sending(self) -> bool:
        """Whether an interrupt reports that a byte was sent, as the router of a mesh needs it."""
        return self.is_combined or self.tx_irq is not None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "cmsdk" and (self.clock_hz is None or self.baud is None):
            raise ValueError("baud: a UART needs clock_hz and baud")
        if self.kind == "mhuv2" and self.send_addr is None:
            raise ValueError("send_addr: message handling units need the one that sends")
        if self.is_combined and self.tx_irq is not None:
            raise ValueError("tx_irq: rx_irq is combined and reports sending; delete one")
        if self.tx_irq is not None and self.tx_irq == self.rx_irq:
            raise ValueError("tx_irq: it is rx_irq; write is_combined = true instead")
        return self


class Fvp(Table):
    """Arm's Fixed Virtual Platforms of the board."""

    executables: dict[Literal["u55", "u65", "u85"], str]
    """The program for each NPU product."""
    macs_parameter: str
    """The parameter that sets the NPU's size."""
    terminal: str
    """The component that connects the console's UART to a socket."""
    vectors_parameter: str | None = None
    """The parameter for the vector table's address, if a firmware may place it elsewhere."""
    parameters: list[str] = Field(default=[])
    """Additional parameters, as NAME=VALUE."""
    time_limit_s: int = Field(default=300, gt=0)
    """The time limit of a run (--timelimit)."""


class Serial(Table):
    """The board itself, on a serial line."""

    reset: Literal["none", "dtr", "rts"] = "none"
    """The control line that resets it, pulsed before a run."""
    reset_command: Command | None = None
    """A program that resets it instead, with its arguments."""

    @model_validator(mode="after")
    def _one_reset(self) -> Self:
        if self.reset != "none" and self.reset_command is not None:
            raise ValueError("reset_command: excludes reset, but both are set; delete one")
        return self


class Flasher(Table):
    """A tool that writes firmware to the board."""

    command: Command
    """The program and its arguments; {elf}, {bin} and {hex} stand for the firmware's files, {jlink}
    for a J-Link Commander script that loads the firmware."""


class ZephyrBoard(Table):
    """A Zephyr board that is this board."""

    target: Annotated[str, Field(pattern=r"^[\w/]+$")]
    """The argument of `west build -b`."""
    since: Annotated[str, Field(pattern=r"^\d+\.\d+$")]
    """The first Zephyr version that has it."""
    before: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    """The first later version without it."""
    ways: list[Literal["qemu", "board"]] = Field(min_length=1)
    """The ways to run it."""
    counter_hz: Hz | None = None
    """The rate of Zephyr's clock on QEMU, if it is another clock than the board's counter."""
    module: Annotated[str, Field(pattern=r"^\w+$")] | None = None
    """Zephyr's module with the vendor's files, such as hal_nordic, if the board needs one."""
    program: str | None = None
    """The memory that is Zephyr's flash, if it also holds parts of a network."""
    program_bytes: Size | None = None
    """The size of Zephyr's part of that memory, which comes first."""

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.program is None) != (self.program_bytes is None):
            raise ValueError("program: set program and program_bytes together, or neither")
        return self

    def exists_in(self, version: tuple[int, int]) -> bool:
        """Return whether a Zephyr version has the board."""
        is_known = _version(self.since) <= version
        return is_known and (self.before is None or version < _version(self.before))


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


CmsisName = Annotated[str, Field(pattern=r"^[^:#\n]+::[^:#\n]+(:[^:#\n]+)?$")]
PackName = Annotated[str, Field(pattern=r"^[^:#\n]+::[^:@#\n]+(@[^\s#]+)?$")]
"""Pack names as in YAML, without quotes."""


class Cmsis(Table):
    """The names of CMSIS-Toolbox and Keil for the board, for --platform csolution."""

    device: CmsisName
    """VENDOR::DEVICE, with :CORE if it has several."""
    packs: list[PackName] = Field(min_length=1)
    """The packs that describe it: VENDOR::PACK, with @VERSION if it matters."""
    board: CmsisName | None = None
    """VENDOR::BOARD, if a pack also describes the board."""


class Linux(Table):
    """Linux on the board: how its programs are compiled."""

    compiler: Annotated[str, Field(pattern=r"^[a-z0-9_]+-linux-gnu$")]
    """The prefix of the compiler's programs, such as aarch64-linux-gnu."""
    options: list[Annotated[str, Field(pattern=r"^-m[\w.,=+-]+$")]] = Field(default=[])
    """Options that name its processor, such as -mcpu=cortex-a53."""


class RunFacts(Table):
    """Ways to run the board, and its Zephyr names."""

    qemu: Qemu | None = None
    """On QEMU, with the NPU model."""
    stand_in: str | None = None
    """The board of ethosgen that runs bare-metal firmware on QEMU in place of this one, which QEMU
    does not have: its processor, memories and console, with this board's NPU."""
    fvp: Fvp | None = None
    """On Arm's FVP."""
    serial: Serial | None = None
    """On the board itself."""
    zephyr: list[ZephyrBoard] = Field(default=[])
    """Zephyr boards that are this one, by Zephyr version."""


class BoardFacts(Table):
    """A whole board file."""

    name: str
    """The file's name."""
    description: str
    """A one-line description."""
    unverified: list[str] = Field(default=[])
    """Facts of this file, by path, that nobody has checked on the board or in its manual."""
    notes: list[str] = Field(default=[])
    """Notes to read before using it."""
    platforms: list[BoardPlatform] = Field(default=[BAREMETAL])
    """The platforms that projects can be generated for."""
    default_memory_mode: MemoryMode = DEFAULT_MEMORY_MODE
    """The mode used without --memory-mode."""
    cpu: Cpu
    """The processor that runs the firmware."""
    npu: Npu | None = None
    """The NPU that it uses; omit the table if it has none."""
    memories: Mapping[MemoryName, BoardMemory] = Field(min_length=1)
    """Memories by name."""
    placements: Mapping[MemoryMode, FirmwarePlacement] = Field(min_length=1)
    """The placement for each memory mode that the board supports."""
    console: ConsoleFacts | None = None
    """The connection to the host; only a board with Linux may omit it."""
    counter: Counter | None = None
    """The time counter; only a board with Linux may omit it."""
    links: list[LinkLine] = Field(default=[], max_length=16)
    """The lines to other elements of a pipeline. An element takes the first ones for those that it
    receives from, and the next ones for those that it sends to."""
    run: RunFacts = RunFacts()
    """Ways to run it."""
    flash: Mapping[str, Flasher] = {}
    """Ways to flash it, by the tool's name."""
    cmsis: Cmsis | None = None
    """Its names in CMSIS-Toolbox."""
    linux: Linux | None = None
    """Its compiler, if it runs Linux."""
    trustzone: Trustzone | None = None
    """What a secure side keeps and hands over to non-secure firmware."""
