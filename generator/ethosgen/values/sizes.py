"""Sizes of memory as people write them."""

import re

_UNITS = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(b|kib|mib)?", re.IGNORECASE)

EXAMPLES = "65536, 64KiB, 1.5MiB"


def bytes_of(text: str) -> int | None:
    """Return a size in bytes, None for a text that is not a positive whole number of bytes."""
    match = _SIZE.fullmatch(text.strip())
    size = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0.0
    return int(size) if size >= 1 and size == int(size) else None
