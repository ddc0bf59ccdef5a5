"""Boards: facts from boards/*.toml, checked against a schema when they are read."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ethosgen.accelerator import ACCELERATORS, Accelerator, find_accelerator
from ethosgen.errors import InputError

DEFAULT_MEMORY_MODE = "Shared_Sram"
"""Vela's name of the mode in which weights stay where the NPU only reads."""

Addr = Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4)]
Size = Annotated[int, Field(gt=0, le=1 << 32)]
Irq = Annotated[int, Field(ge=0, lt=480)]
Hz = Annotated[int, Field(gt=0)]


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Cpu(_Facts):
    """The processor; `core` is GCC's name for -mcpu."""

    core: Literal["cortex-m33", "cortex-m52", "cortex-m55", "cortex-m85"]


class Npu(_Facts):
    """Where the NPU is, which configurations the board comes in, and which level it runs at."""

    default: str
    configurations: list[str] = Field(min_length=1)
    base_addr: Addr
    irq: Irq
    secure: bool
    privileged: bool

    @model_validator(mode="after")
    def _known(self) -> Self:
        for name in self.configurations:
            if name not in ACCELERATORS:
                raise ValueError(f"'{name}' is no NPU; known are: {', '.join(ACCELERATORS)}")
        if self.default not in self.configurations:
            raise ValueError(f"default '{self.default}' is not among configurations")
        return self


class Memory(_Facts):
    """One memory; `npu_port` is the NPU's AXI port that reaches it, None if none does."""

    start_addr: Addr
    size_bytes: Size
    access: Literal["rx", "rw", "rwx", "r"]
    npu_port: Literal[0, 1] | None = None

    @property
    def end_addr(self) -> int:
        """The first address behind it."""
        return self.start_addr + self.size_bytes


class Placement(_Facts):
    """The memory of each part of a firmware, by name."""

    code: str
    data: str
    arena: str
    io: str
    commands: str
    weights: str

    def npu_parts(self) -> dict[str, str]:
        """Return the memory of each part that the NPU touches."""
        return {
            "arena": self.arena,
            "io": self.io,
            "commands": self.commands,
            "weights": self.weights,
        }


class Console(_Facts):
    """The UART that carries the protocol; `cmsdk` is Arm's CMSDK APB UART."""

    uart: Literal["cmsdk"]
    base_addr: Addr
    rx_irq: Irq
    clock_hz: Hz
    baud: Hz


class Counter(_Facts):
    """The SSE-300 system counter: its CNTCR, the low word of CNTCV, and its rate."""

    control_addr: Addr
    value_addr: Addr
    hz: Hz


class Bell(_Facts):
    """The UART that stands for the NPU's interrupt line on QEMU; `serial` is QEMU's number."""

    base_addr: Addr
    rx_irq: Irq
    serial: int = Field(ge=1, le=5)


class Qemu(_Facts):
    """How QEMU runs the board, and which of its memory it shares with the NPU model.

    `npu_memory` holds everything that the NPU touches, `npu_base_addr` is the register page in it.
    `instruction_ns` is the virtual time of one instruction (-icount), a power of two.
    """

    machine: str
    memory_backend: str
    shared_start_addr: Addr
    shared_size_bytes: Size
    npu_memory: str
    npu_base_addr: Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4096)]
    bell: Bell
    instruction_ns: Literal[1, 2, 4, 8, 16, 32, 64, 128]

    @property
    def shared_end_addr(self) -> int:
        """The first address behind the shared memory."""
        return self.shared_start_addr + self.shared_size_bytes


class Fvp(_Facts):
    """Arm's Fixed Virtual Platforms of the board, by NPU product."""

    executables: dict[Literal["u55", "u65"], str]
    macs_parameter: str


class ZephyrBoard(_Facts):
    """One of Zephyr's boards that is this one; `since` and `before` are Zephyr's versions.

    `target` is what `west build -b` takes, `ways` what it can run on.
    """

    target: Annotated[str, Field(pattern=r"^[\w/]+$")]
    since: Annotated[str, Field(pattern=r"^\d+\.\d+$")]
    before: Annotated[str, Field(pattern=r"^\d+\.\d+$")] | None = None
    ways: list[Literal["qemu", "board"]] = Field(min_length=1)

    def exists_in(self, version: tuple[int, int]) -> bool:
        """Say whether a version of Zephyr has the board."""
        is_known = _version(self.since) <= version
        return is_known and (self.before is None or version < _version(self.before))


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


class Run(_Facts):
    """The ways in which the board is run, besides being one; and what Zephyr calls it."""

    qemu: Qemu | None = None
    fvp: Fvp | None = None
    zephyr: list[ZephyrBoard] = []


class Board(_Facts):
    """Everything that ethosgen knows of a board; `name` is its file's."""

    name: str
    description: str
    cpu: Cpu
    npu: Npu
    memories: Mapping[str, Memory]
    placements: Mapping[Literal["Sram_Only", "Shared_Sram", "Dedicated_Sram"], Placement]
    console: Console
    counter: Counter
    run: Run = Run()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if DEFAULT_MEMORY_MODE not in self.placements:
            raise ValueError(f"placements lacks {DEFAULT_MEMORY_MODE}")
        for mode, placement in self.placements.items():
            self._check_placement(f"placements.{mode}", placement)
        if self.run.qemu is not None:
            self._check_qemu(self.run.qemu)
        return self

    def _check_placement(self, where: str, placement: Placement) -> None:
        for part, memory in placement.model_dump().items():
            if memory not in self.memories:
                raise ValueError(f"{where}.{part}: there is no memory '{memory}'")
        for part, memory in placement.npu_parts().items():
            if self.memories[memory].npu_port is None:
                raise ValueError(f"{where}.{part}: the NPU does not reach '{memory}'")
        for part in ("data", "arena", "io"):
            memory = getattr(placement, part)
            if "w" not in self.memories[memory].access:
                raise ValueError(f"{where}.{part}: '{memory}' cannot be written")

    def _check_qemu(self, qemu: Qemu) -> None:
        memory = self.memories.get(qemu.npu_memory)
        if memory is None:
            raise ValueError(f"run.qemu.npu_memory: there is no memory '{qemu.npu_memory}'")
        inside = qemu.shared_start_addr <= memory.start_addr
        if not inside or memory.end_addr > qemu.shared_end_addr:
            raise ValueError(f"run.qemu.npu_memory: '{qemu.npu_memory}' is not wholly shared")
        if qemu.npu_base_addr != memory.end_addr - 4096:
            raise ValueError("run.qemu.npu_base_addr must be the last page of npu_memory")

    def placement(self, mode: str = DEFAULT_MEMORY_MODE) -> Placement:
        """Return where the parts go in a memory mode; InputError lists the board's modes."""
        for known, placement in self.placements.items():
            if known == mode:
                return placement
        modes = ", ".join(self.placements)
        raise InputError(f"board '{self.name}' has no memory mode '{mode}'; it has: {modes}")

    def accelerator(self, name: str | None) -> Accelerator:
        """Return the NPU of that name, by default the board's own; InputError if it has no such."""
        found = find_accelerator(name or self.npu.default)
        if found.name not in self.npu.configurations:
            raise InputError(
                f"board '{self.name}' has no {found.name}; it comes with: "
                f"{', '.join(self.npu.configurations)}"
            )
        return found


def board_names() -> list[str]:
    """Return the names of the boards that come with ethosgen."""
    return sorted(path.stem for path in _directory().glob("*.toml"))


def load_board(name_or_path: str) -> Board:
    """Read a board by its name, or from a file of the user's that ends in .toml.

    InputError names the file and the field that is wrong, or lists the boards there are.
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        if name_or_path not in board_names():
            known = ", ".join(board_names())
            raise InputError(
                f"unknown board '{name_or_path}'; choose one of: {known}, or give a .toml file"
            )
        path = _directory() / f"{name_or_path}.toml"
    try:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read board file '{path}': {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"board file '{path}' is no TOML: {error}") from None
    try:
        return Board.model_validate({"name": path.stem, **facts})
    except ValidationError as error:
        raise InputError(f"board file '{path}': {_first_fault(error)}") from None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    field = ".".join(str(part) for part in fault["loc"])
    message = fault["msg"].removeprefix("Value error, ")
    return f"{field}: {message}" if field else message


def _directory() -> Path:
    """Return boards/: beside the package when installed, at the repository's root otherwise."""
    package = Path(__file__).parent
    installed = package / "boards"
    return installed if installed.is_dir() else package.parent.parent / "boards"
