"""QEMU's machine for a board, and the memory that it shares with the NPU model."""

from typing import Literal, Self

from pydantic import Field, model_validator

from ethosgen.board.fields import Addr, Irq, PageAddr, Size
from ethosgen.toml.tables import Table


class Bell(Table):
    """The UART that serves as the NPU's interrupt line on QEMU."""

    base_addr: Addr
    """Address of its registers."""
    rx_irq: Irq
    """Its receive interrupt."""
    serial: int = Field(ge=1, le=5)
    """QEMU's number for it."""


class SharedRam(Table):
    """The memory that QEMU shares with the NPU model, and what else the model needs."""

    memory_backend: str
    """The machine's memory that can be a file."""
    shared_start_addr: Addr
    """The first address of that memory."""
    shared_size_bytes: Size
    """Its size."""
    npu_memory: str
    """The memory with everything that the NPU accesses."""
    npu_base_addr: PageAddr
    """The address of the NPU's registers: its last page, its last two with an Ethos-U85."""
    bell: Bell
    """The interrupt line."""

    @property
    def shared_end_addr(self) -> int:
        """The first address after the shared memory."""
        return self.shared_start_addr + self.shared_size_bytes


class Qemu(Table):
    """QEMU's machine for the board, and the memory that it shares with the NPU model, if any."""

    machine: str
    """The argument of -M."""
    options: list[str] = Field(default=[])
    """Further arguments of QEMU."""
    serial: int = Field(default=0, ge=0, le=5)
    """QEMU's number for the console."""
    instruction_ns: Literal[1, 2, 4, 8, 16, 32, 64, 128]
    """The virtual time of one instruction (-icount)."""
    memory_backend: str | None = None
    """The machine's memory that can be a file. A board without an NPU omits this and the rest."""
    shared_start_addr: Addr | None = None
    """The first address of that memory."""
    shared_size_bytes: Size | None = None
    """Its size."""
    npu_memory: str | None = None
    """The memory with everything that the NPU accesses."""
    npu_base_addr: PageAddr | None = None
    """The address of the NPU's registers: its last page, its last two with an Ethos-U85."""
    bell: Bell | None = None
    """The interrupt line."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        fields = SharedRam.model_fields
        missing = [name for name in fields if getattr(self, name) is None]
        if missing and len(missing) < len(fields):
            raise ValueError(f"{missing[0]}: missing; the memory of the NPU model needs it")
        return self

    @property
    def shared(self) -> SharedRam | None:
        """The memory that it shares, None for a board without an NPU."""
        if self.memory_backend is None:
            return None
        return SharedRam.model_validate(
            {name: getattr(self, name) for name in SharedRam.model_fields}
        )
