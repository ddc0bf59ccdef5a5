"""Whole numbers rounded up."""


def pieces(value: int, size: int) -> int:
    """Return the number of pieces of a size that cover a value."""
    return -(-value // size)


def rounded_up(value: int, unit: int) -> int:
    """Return the smallest multiple of a unit that is not below a value."""
    return -(-value // unit) * unit
