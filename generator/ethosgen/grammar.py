"""Counted nouns in sentences."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return "1 operator" or "1,200 operators"; `plural` is for nouns that take no plain s."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
