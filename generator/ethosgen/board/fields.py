"""The kinds of fields in the tables of a board file."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from ethosgen.toml.tables import Table

Addr = Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4)]
Size = Annotated[int, Field(gt=0, le=1 << 32)]
Irq = Annotated[int, Field(ge=0, lt=480)]
PageAddr = Annotated[int, Field(ge=0, lt=1 << 32, multiple_of=4096)]
Hz = Annotated[int, Field(gt=0)]
Word = Annotated[int, Field(ge=0, lt=1 << 32)]
Command = Annotated[list[str], Field(min_length=1)]


class RegisterWrite(Table):
    """One access: bits to clear, then bits to set, then bits to wait for."""

    addr: Addr
    """The register."""
    clear: Word = 0
    """Bits to clear."""
    set: Word = 0
    """Bits to set."""
    await_addr: Addr | None = None
    """A register to read next, until it has the bits in await_mask as in await_bits."""
    await_mask: Word = 0
    """The bits of that register to test."""
    await_bits: Word = 0
    """The values that they must have."""
    why: str
    """The purpose; it becomes a comment."""

    @model_validator(mode="after")
    def _awaits(self) -> Self:
        if (self.await_addr is None) != (self.await_mask == 0):
            raise ValueError("await_mask: set await_addr and await_mask together, or neither")
        if self.await_bits & ~self.await_mask:
            raise ValueError("await_bits: has bits that await_mask lacks, so the wait never ends")
        return self
