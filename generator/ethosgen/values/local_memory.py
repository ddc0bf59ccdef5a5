"""An accelerator's own memory, and the copies of a call's arguments to and from it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Local:
    """An accelerator's own memory: a C array of bytes, and the functions that copy to and from it.

    Both are int32_t copy(void *to, const void *from, int32_t bytes), and return a status.
    """

    symbol: str
    copy_in: str
    copy_out: str


@dataclass(frozen=True)
class LocalCopy:
    """The place of an argument in an accelerator's own memory; `direction` is "in", "out" or ""."""

    argument: int
    offset: int
    bytes: int
    direction: str
