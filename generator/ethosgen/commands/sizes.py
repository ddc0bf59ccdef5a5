"""Sizes of memory as a user types them."""

from typing import Any

import click

from ethosgen.values.errors import InputError
from ethosgen.values.sizes import EXAMPLES, bytes_of


class Size(click.ParamType):  # type: ignore[type-arg] # generic only since click 8.2
    """A number of bytes, perhaps in KiB or MiB; with `may_be_zero` also 0."""

    name = "size"

    def __init__(self, *, may_be_zero: bool = False) -> None:
        self._may_be_zero = may_be_zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes; InputError for a text that is not a size, or less than a byte."""
        if isinstance(value, int):
            return value
        if self._may_be_zero and str(value) == "0":
            return 0
        size = bytes_of(str(value))
        if size is None:
            option = max(param.opts, key=len) if param else "size"
            raise InputError(
                f"{option} '{value}' is not a size; write bytes, KiB or MiB: {EXAMPLES}"
            )
        return size


SIZE, SIZE_OR_ZERO = Size(), Size(may_be_zero=True)


def size_text(size: int) -> str:
    """Return a size in KiB with one decimal, or in bytes below 1 KiB."""
    return f"{size:,} B" if size < 1024 else f"{size / 1024:,.1f} KiB"
