"""How a .pte file is recognized."""

FORMAT = "pte"
IDENTIFIER = b"ET12"


def recognizes(data: bytes) -> bool:
    """Return whether the bytes have the identifier of .pte files."""
    return data[4:8] == IDENTIFIER
