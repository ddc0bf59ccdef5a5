"""The identifier of .tflite files."""

FORMAT = "tflite"
IDENTIFIER = b"TFL3"


def recognizes(data: bytes) -> bool:
    """Return whether the bytes have the identifier of .tflite files."""
    return data[4:8] == IDENTIFIER
