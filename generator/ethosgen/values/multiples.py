"""Whole numbers rounded up, and the unit of what caches hold."""

CACHE_LINE_BYTES = 32
"""A line of the data caches of Cortex-M7, M55 and M85."""


def pieces(value: int, size: int) -> int:
    """Return the number of pieces of a size that cover a value."""
    return -(-value // size)


def rounded_up(value: int, unit: int) -> int:
    """Return the smallest multiple of a unit that is not below a value."""
    return -(-value // unit) * unit
