"""Sizes of memory as a user types them."""

import re
from typing import Any

import click

from ethosgen.values.errors import InputError

_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kib|mib)?", re.IGNORECASE)


class Size(click.ParamType):  # type: ignore[type-arg] # generic only since click 8.2
    """A number of bytes, perhaps in KiB or MiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes; InputError for a text that is no size, or less than a byte."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(str(value).strip())
        size = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0.0
        if size < 1 or size != int(size):
            option = max(param.opts, key=len) if param else "size"
            raise InputError(
                f"{option} '{value}' is not a size; write bytes, KiB or MiB: 65536, 64KiB, 1.5MiB"
            )
        return int(size)


SIZE = Size()


def size_text(size: int) -> str:
    """Return a size in KiB with one decimal, or in bytes below 1 KiB."""
    return f"{size:,} B" if size < 1024 else f"{size / 1024:,.1f} KiB"
