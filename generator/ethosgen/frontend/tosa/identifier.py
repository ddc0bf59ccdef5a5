"""The identifier of .tosa files."""

FORMAT = "tosa"
IDENTIFIER = b"TOSA"


def recognizes(data: bytes) -> bool:
    """Return whether the bytes have the identifier of .tosa files."""
    return data[4:8] == IDENTIFIER
